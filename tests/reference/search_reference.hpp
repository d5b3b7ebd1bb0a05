// SPDX-License-Identifier: Apache-2.0
// Ranked search the slow, obvious way: for every document, for every word of the query, the formula of docs/search.md, one
// rounding to 2^-32; then a complete sort. The canonical logarithm is the only code shared with src/ops/search.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/canonical_math.hpp"
#include "quern/ops/search.hpp"

namespace quern::reference {

/// A word: document -> frequency.
using word_documents = std::map<std::uint32_t, std::uint32_t>;

struct query_word {
    word_documents documents;
    std::uint32_t count = 1;
    word_documents titles;
    std::uint32_t continued = 0;
    std::uint32_t weight = weight_one;
};

/// The inputs joined to the words.
struct score_components {
    std::vector<std::uint64_t> ranks;  ///< none: no prior
    double unit = 1, weight = 1;
    std::vector<std::int64_t> boosts;  ///< none: no list
    std::optional<std::uint32_t> excluded;
};

/// A word after a history: document -> (occurrences of the history, of them those followed by the word).
struct query_history {
    std::map<std::uint32_t, std::pair<std::uint32_t, std::uint32_t>> documents;
    std::uint32_t count = 1;
};

inline std::int64_t fixed(double x) {
    return static_cast<std::int64_t>(std::nearbyint(x * 4294967296.0));
}

inline std::vector<scored_document> search(const std::vector<std::uint32_t>& lengths, std::uint64_t words,
                                           const std::vector<query_word>& query,
                                           const ranking_options& options, std::size_t k,
                                           const std::vector<query_history>& histories = {},
                                           const std::set<std::uint32_t>* allowed = nullptr,
                                           const score_components& joined = {}) {
    const double n = static_cast<double>(lengths.size()), total = static_cast<double>(words);
    std::vector<double> collection_frequencies;
    for (const auto& word : query) {
        std::uint64_t occurrences = 0;
        for (const auto& [_, frequency] : word.documents) occurrences += frequency;
        collection_frequencies.push_back(static_cast<double>(occurrences));
    }
    std::vector<scored_document> ranked;
    for (std::uint32_t d = 0; d < lengths.size(); ++d) {
        const double length = lengths[d];
        std::int64_t score = 0;
        bool holds_a_word = false;
        for (std::size_t w = 0; w < query.size(); ++w) {
            const auto& [documents, requested, titles, continued, weight] = query[w];
            if (documents.empty() || requested == 0) continue;
            const std::int64_t count = requested - continued;
            const double cf = collection_frequencies[w], df = static_cast<double>(documents.size());
            const auto found = documents.find(d);
            const bool holds = found != documents.end();
            const double f = holds ? found->second : 0;
            holds_a_word |= holds;
            double part = 0;
            // By the term's weight: of 2^16 whole, rounded down.
            const auto share = [&, of = weight](std::int64_t x) {
                if (of == weight_one) return x;
                const std::int64_t product = x * of, whole = std::int64_t{1} << 16;
                return product / whole - (product % whole < 0 ? 1 : 0);
            };
            if (options.model == ranking_model::bm25) {
                const double idf = canonical_log(1.0 + (n - df + 0.5) / (df + 0.5));
                part = idf * f /
                       (f + (options.k1 * (1.0 - options.b) + options.k1 * options.b / (total / n) * length));
            } else if (options.model == ranking_model::ql) {
                const double weighted = (1.0 - options.lambda) * cf;
                score += count * share(fixed(canonical_log(weighted / total)));
                part = canonical_log(1.0 + options.lambda * total / weighted * f / length);
            } else if (options.model == ranking_model::two_stage) {
                const double rest = 1.0 - options.lambda;
                score += count *
                         (share(fixed(canonical_log(cf / total))) -
                          share(fixed(canonical_log((length + options.mu) / (options.mu + rest * length)))));
                part = canonical_log(1.0 + options.lambda * total / cf * f / (options.mu + rest * length));
            } else {
                const double prior = options.mu * cf / total;
                score += count * (share(fixed(canonical_log(prior))) -
                                  share(fixed(canonical_log(length + options.mu))));
                part = canonical_log(1.0 + f / prior);
            }
            const auto positive = [](std::int64_t x) { return std::max<std::int64_t>(1, x); };
            if (holds) score += count * positive(share(positive(fixed(part))));
            if (options.title_weight != 0 && titles.contains(d)) {
                holds_a_word = true;
                const double idf = canonical_log(1.0 + (n - df + 0.5) / (df + 0.5));
                score += requested * positive(share(positive(fixed(options.title_weight * idf))));
            }
        }
        for (const auto& [documents, count] : histories) {
            double history = 0, continued = 0;
            for (const auto& [_, counts] : documents) {
                history += counts.first;
                continued += counts.second;
            }
            double probability = continued / history;
            if (const auto found = documents.find(d); found != documents.end()) {
                const double h = found->second.first, f = found->second.second;
                probability = options.lambda * (f / h) + (1.0 - options.lambda) * probability;
            }
            score += count * fixed(canonical_log(probability));
        }
        if (!joined.ranks.empty()) {
            const double rank = static_cast<double>(std::max<std::uint64_t>(1, joined.ranks[d]));
            score += fixed(joined.weight * canonical_log(rank * joined.unit));
        }
        if (!joined.boosts.empty() && joined.boosts[d] != no_boost) {
            score += joined.boosts[d];
            holds_a_word = true;
        }
        if (allowed != nullptr && !allowed->contains(d)) continue;
        if (joined.excluded == d) continue;
        if (holds_a_word) ranked.push_back({d, score});
    }
    std::sort(ranked.begin(), ranked.end(), [](const scored_document& a, const scored_document& b) {
        return a.fixed_score != b.fixed_score ? a.fixed_score > b.fixed_score : a.document < b.document;
    });
    if (ranked.size() > k) ranked.resize(k);
    return ranked;
}

}  // namespace quern::reference
