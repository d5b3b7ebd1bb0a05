// SPDX-License-Identifier: Apache-2.0
// BM25F the slow, obvious way: for every document, for every word of the query, the formula of quern/ops/field_search.hpp;
// then a complete sort.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "base/canonical_math.hpp"
#include "quern/ops/field_search.hpp"

namespace quern::reference {

/// A word by its occurrences in titles and in texts: document -> frequency.
struct fielded_word {
    std::map<std::uint32_t, std::uint32_t> title, text;
    std::uint32_t count = 1;
    std::uint32_t weight = weight_one;
    std::vector<std::map<std::uint32_t, std::uint32_t>> others = {};  // of each other field
};

struct field_values {
    double weight, b;
};

struct other_field {
    field_values by;
    std::vector<std::uint32_t> lengths;
};

/// `found`: whether a document may be found; `boosts`: none, or a part for each document; `prior`: of a document.
inline std::vector<scored_document> search_fields(
    const std::vector<std::uint32_t>& title_lengths, const std::vector<std::uint32_t>& text_lengths,
    const std::vector<fielded_word>& query, double k1, field_values title, field_values text, std::size_t k,
    const std::function<bool(std::uint32_t)>& found = {}, const std::vector<std::int64_t>& boosts = {},
    const std::function<std::int64_t(std::uint32_t)>& prior = {},
    const std::vector<other_field>& others = {}) {
    const double n = static_cast<double>(title_lengths.size());
    const auto mean = [&](const std::vector<std::uint32_t>& lengths) {
        std::uint64_t words = 0;
        for (const std::uint32_t length : lengths) words += length;
        return static_cast<double>(words) / n;
    };
    const double title_mean = mean(title_lengths), text_mean = mean(text_lengths);
    std::vector<double> other_means;
    for (const other_field& field : others) other_means.push_back(mean(field.lengths));
    const auto normalised = [](field_values field, double f, double length, double mean_length) {
        if (f == 0) return 0.0;
        const double slope = mean_length == 0 ? 1.0 : field.b / mean_length;
        return field.weight * f / ((1.0 - field.b) + slope * std::max(1.0, length));
    };
    std::vector<double> holders;  // documents with each word
    for (const fielded_word& word : query) {
        std::set<std::uint32_t> all;
        for (const auto& [document, _] : word.text) all.insert(document);
        for (const auto& [document, _] : word.title) all.insert(document);
        for (const auto& other : word.others)
            for (const auto& [document, _] : other) all.insert(document);
        holders.push_back(static_cast<double>(all.size()));
    }
    std::vector<scored_document> ranked;
    for (std::uint32_t d = 0; d < title_lengths.size(); ++d) {
        bool has_word = false;
        std::int64_t score = 0;
        for (const fielded_word& word : query) {
            const auto in = [d](const std::map<std::uint32_t, std::uint32_t>& documents) {
                const auto at = documents.find(d);
                return at == documents.end() ? 0.0 : static_cast<double>(at->second);
            };
            double t = normalised(title, in(word.title), title_lengths[d], title_mean) +
                       normalised(text, in(word.text), text_lengths[d], text_mean);
            for (std::size_t i = 0; i < word.others.size(); ++i)
                t += normalised(others[i].by, in(word.others[i]), others[i].lengths[d], other_means[i]);
            if (t == 0 || word.count == 0) continue;
            has_word = true;
            const double df = holders[static_cast<std::size_t>(&word - query.data())];
            const double idf = canonical_log(1.0 + (n - df + 0.5) / (df + 0.5));
            std::int64_t part = std::max<std::int64_t>(
                1, static_cast<std::int64_t>(std::nearbyint(idf * t / (t + k1) * 4294967296.0)));
            if (word.weight != weight_one) part = std::max<std::int64_t>(1, part * word.weight / 65536);
            score += word.count * part;
        }
        const bool listed = !boosts.empty() && boosts[d] != no_boost;
        if ((!has_word && !listed) || (found && !found(d))) continue;
        if (listed) score += boosts[d];
        if (prior) score += prior(d);
        ranked.push_back({d, score});
    }
    std::ranges::stable_sort(ranked,
                             [](const auto& a, const auto& b) { return a.fixed_score > b.fixed_score; });
    if (ranked.size() > k) ranked.resize(k);
    return ranked;
}

}  // namespace quern::reference
