// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <random>
#include <vector>

#include "quern/base/error.hpp"
#include "quern/ops/fusion.hpp"

namespace quern {
namespace {

struct one_run {
    std::vector<std::uint32_t> ids;
    std::vector<double> scores;
};

std::vector<run_list_view> views_of(const std::vector<one_run>& runs) {
    std::vector<run_list_view> views;
    for (const one_run& run : runs) views.push_back({run.ids, run.scores, {}});
    return views;
}

one_run random_run(std::mt19937_64& random, std::uint32_t documents, unsigned kinds_of_scores) {
    one_run run;
    for (std::uint32_t d = 0; d < documents; ++d)
        if (random() % 3 != 0) run.ids.push_back(d);
    std::ranges::shuffle(run.ids, random);
    for (std::size_t i = 0; i < run.ids.size(); ++i)
        run.scores.push_back(static_cast<double>(random() % kinds_of_scores) - 3.5);
    std::ranges::sort(run.scores, std::greater());
    return run;
}

std::vector<double> normalised(const std::vector<double>& scores, score_normalisation how) {
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

/// The rules as fusion.hpp words them, document by document.
std::map<std::uint32_t, double> expected_scores(const std::vector<one_run>& runs,
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

TEST(fusion, every_rule_and_normalisation_is_as_worded) {
    std::mt19937_64 random(11);
    for (const std::uint32_t documents : {1u, 5u, 60u}) {
        for (const unsigned kinds : {1u, 3u, 1000u}) {
            std::vector<one_run> runs;
            for (int r = 0; r < 4; ++r) runs.push_back(random_run(random, documents, kinds));
            runs.push_back({});
            const std::vector<double> weights = {1, 0.5, 2, -0.25, 3};
            for (std::size_t rule = 0; rule < std::size(fusion_rule_names); ++rule) {
                for (std::size_t how = 0; how < std::size(score_normalisation_names); ++how) {
                    for (const bool weighted : {false, true}) {
                        fusion_options options{.rule = static_cast<fusion_rule>(rule),
                                               .normalisation = static_cast<score_normalisation>(how)};
                        if (weighted) options.weights = weights;
                        const auto expected = expected_scores(runs, options);
                        const fused_list fused = fuse(views_of(runs), documents, options);
                        ASSERT_EQ(fused.ids.size(), expected.size());
                        for (std::size_t i = 0; i < fused.ids.size(); ++i) {
                            ASSERT_DOUBLE_EQ(fused.scores[i], expected.at(fused.ids[i]));
                            if (i == 0) continue;
                            ASSERT_TRUE(
                                fused.scores[i] < fused.scores[i - 1] ||
                                (fused.scores[i] == fused.scores[i - 1] && fused.ids[i] > fused.ids[i - 1]));
                        }
                        options.depth = 7;
                        const fused_list first = fuse(views_of(runs), documents, options);
                        const std::size_t kept = std::min<std::size_t>(7, fused.ids.size());
                        ASSERT_EQ(first.ids, std::vector(fused.ids.begin(), fused.ids.begin() + kept));
                    }
                }
            }
        }
    }
}

TEST(fusion, ties_stand_as_the_caller_has_them) {
    const std::vector<one_run> runs = {{{0, 1, 2, 3}, {1, 1, 1, 1}}};
    const auto falling = [](std::uint32_t a, std::uint32_t b) { return a > b; };
    EXPECT_EQ(fuse(views_of(runs), 4, {}).ids, (std::vector<std::uint32_t>{0, 1, 2, 3}));
    EXPECT_EQ(fuse(views_of(runs), 4, {.depth = 2}, falling).ids, (std::vector<std::uint32_t>{3, 2}));
}

TEST(fusion, what_is_wrong_is_named) {
    const auto fault = [](const one_run& second) {
        const std::vector<one_run> runs = {{{0, 1}, {2, 1}}, second};
        try {
            fuse(views_of(runs), 3, {});
        } catch (const list_fault& found) {
            return std::to_string(found.list()) + ":" + std::to_string(found.position()) + " " + found.what();
        }
        return std::string();
    };
    EXPECT_EQ(fault({{2, 0, 2}, {3, 2, 1}}), "1:2 the id is in the list twice");
    EXPECT_EQ(fault({{2, 3}, {3, 2}}), "1:1 the id is out of range");
    EXPECT_EQ(fault({{2, 1}, {3, 4}}), "1:1 the score is greater than the one before it");
    EXPECT_EQ(fault({{2, 1}, {3, std::nan("")}}), "1:1 the score is not a finite number");
    const std::vector<one_run> huge = {{{0, 1}, {1e308, 1}}, {{2, 0}, {1e308, 1e308}}};
    try {
        fuse(views_of(huge), 3, {});
        FAIL();
    } catch (const list_fault& found) {
        EXPECT_EQ(found.list(), 1u);
        EXPECT_EQ(found.position(), 1u);
        EXPECT_STREQ(found.what(), "the fused score of its document is beyond the greatest double");
    }
    const std::vector<std::uint32_t> ids = {2, 1}, ranks = {1, 0};
    const std::vector<double> scores = {2, 1};
    const std::vector<run_list_view> ranked = {{ids, scores, ranks}};
    EXPECT_THROW(fuse(ranked, 3, {.rule = fusion_rule::rrf, .constant = 0}), list_fault);
    EXPECT_EQ(fuse(ranked, 3, {.rule = fusion_rule::rrf, .constant = 1}).scores, (std::vector{1, 0.5}));
    EXPECT_EQ(fuse(ranked, 3, {.rule = fusion_rule::borda, .constant = 0}).scores,
              (std::vector<double>{3, 2}));
    const std::vector<one_run> runs(2);
    const std::vector<double> weights = {1};
    EXPECT_THROW(fuse(views_of(runs), 3, {.weights = weights}), usage_error);
    EXPECT_THROW(fuse(views_of(runs), 3, {.depth = 0}), usage_error);
    EXPECT_THROW(fuse(views_of(runs), 3, {.constant = -1}), usage_error);
}

}  // namespace
}  // namespace quern
