// SPDX-License-Identifier: Apache-2.0
// Rank fusion by the definitions of fusion.hpp, document by document.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "quern/ops/fusion.hpp"

namespace quern::reference {

/// One topic in one run, scores descending.
struct one_run {
    std::vector<std::uint32_t> ids;
    std::vector<double> scores;
};

inline std::vector<double> normalised(const std::vector<double>& scores, score_normalisation how) {
    std::vector<double> result;
    if (scores.empty()) return result;
    const auto n = static_cast<double>(scores.size());
    const double greatest = *std::ranges::max_element(scores), least = *std::ranges::min_element(scores);
    double sum = 0, shifted = 0, squares = 0;
    for (const double s : scores) sum += s;
    for (const double s : scores) shifted += s - least;
    for (const double s : scores) squares += (s - sum / n) * (s - sum / n);
    for (std::size_t i = 0; i < scores.size(); ++i) {
        const double s = scores[i];
        const bool equal = greatest == least;
        switch (how) {
            case score_normalisation::none:
                result.push_back(s);
                break;
            case score_normalisation::minmax:
                result.push_back(equal ? 1 : (s - least) / (greatest - least));
                break;
            case score_normalisation::zscore:
                result.push_back(equal ? 0 : (s - sum / n) / std::sqrt(squares / n));
                break;
            case score_normalisation::sum:
                result.push_back(equal ? 1 / n : (s - least) / shifted);
                break;
            case score_normalisation::rank:
                result.push_back(1 - static_cast<double>(i) / n);
                break;
        }
    }
    return result;
}

inline std::map<std::uint32_t, double> fused_scores(const std::vector<one_run>& runs,
                                                    const fusion_options& options) {
    std::map<std::uint32_t, std::vector<std::optional<std::size_t>>> places;
    for (std::size_t r = 0; r < runs.size(); ++r) {
        for (std::size_t i = 0; i < runs[r].ids.size(); ++i) {
            auto& of_document = places[runs[r].ids[i]];
            of_document.resize(runs.size());
            of_document[r] = i;
        }
    }
    std::vector<std::vector<double>> scores;
    for (const one_run& run : runs) scores.push_back(normalised(run.scores, options.normalisation));
    const auto all = static_cast<double>(places.size());
    std::map<std::uint32_t, double> result;
    for (const auto& [document, at] : places) {
        std::vector<double> parts;
        double points = 0, reciprocal = 0, sum = 0;
        for (std::size_t r = 0; r < runs.size(); ++r) {
            const double weight = options.weights.empty() ? 1 : options.weights[r];
            const auto size = static_cast<double>(runs[r].ids.size());
            points += weight * (at[r] ? all - static_cast<double>(*at[r]) : (all - size + 1) / 2);
            if (!at[r]) continue;
            parts.push_back(weight * scores[r][*at[r]]);
            sum += parts.back();
            reciprocal += weight * (1 / (options.constant + static_cast<double>(*at[r] + 1)));
        }
        const auto holding = static_cast<double>(parts.size());
        std::vector<double> sorted = parts;
        std::ranges::sort(sorted);
        switch (options.rule) {
            case fusion_rule::sum:
                result[document] = sum;
                break;
            case fusion_rule::mean:
                result[document] = sum / static_cast<double>(runs.size());
                break;
            case fusion_rule::mnz:
                result[document] = sum * holding;
                break;
            case fusion_rule::anz:
                result[document] = sum / holding;
                break;
            case fusion_rule::min:
                result[document] = sorted.front();
                break;
            case fusion_rule::max:
                result[document] = sorted.back();
                break;
            case fusion_rule::median:
                result[document] = (sorted[(sorted.size() - 1) / 2] + sorted[sorted.size() / 2]) / 2;
                break;
            case fusion_rule::rrf:
                result[document] = reciprocal;
                break;
            case fusion_rule::borda:
                result[document] = points;
                break;
        }
    }
    return result;
}

}  // namespace quern::reference
