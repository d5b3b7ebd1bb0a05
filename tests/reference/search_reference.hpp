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

/// Kamphuis et al. 2020; the sum of the part and of `constant`.
inline double variant_of_bm25(const ranking_options& options, double n, double df, double f, double length,
                              double average, std::int64_t& constant) {
    const double k1 = options.k1, b = options.b, delta = options.delta;
    const auto saturated = [&](double weight, double k) {
        return weight * f / (f + (k * (1.0 - b) + k * b / average * length));
    };
    switch (options.model) {
        case ranking_model::robertson:
            return saturated(std::max(0.0, canonical_log((n - df + 0.5) / (df + 0.5))), k1);
        case ranking_model::atire:
            return saturated(canonical_log(n / df) * (k1 + 1.0), k1);
        case ranking_model::bm25_plus:
            constant = fixed(canonical_log((n + 1.0) / df) * delta);
            return saturated(canonical_log((n + 1.0) / df) * (k1 + 1.0), k1);
        case ranking_model::bm25l: {
            const double all = canonical_log((n + 1.0) / (df + 0.5)) * (k1 + 1.0);
            if (k1 + delta == 0) return saturated(all, 0);
            constant = fixed(all * delta / (k1 + delta));
            return saturated(all * k1 / (k1 + delta), k1 + delta);
        }
        default: {
            // Lucene's byte: 24 values as they are, then the four highest bits of the rest.
            double kept = 1;
            while (length >= 24 && (length - 24) / kept >= 16) kept *= 2;
            if (length >= 24) length = 24 + std::floor((length - 24) / kept) * kept;
            return saturated(canonical_log(1.0 + (n - df + 0.5) / (df + 0.5)), k1);
        }
    }
}

/// Amati and van Rijsbergen 2002: PL2 and InL2.
inline double divergence(const ranking_options& options, double n, double df, double cf, double f,
                         double length, double average) {
    const double log2_of_e = 0x1.71547652b82fep+0;
    const double t =
        std::max(f * (canonical_log(1.0 + options.c * average / std::max(1.0, length)) * log2_of_e), 0x1p-60);
    if (options.model == ranking_model::inl2)
        return canonical_log((n + 1.0) / (df + 0.5)) * log2_of_e * t / (t + 1.0);
    const double mean = cf / n;
    const double nats = t * (canonical_log(t) - (canonical_log(mean) + 1.0)) +
                        (mean + 0.5 * (canonical_log(t) + 0x1.d67f1c864beb5p+0));
    return std::min(4095.0, nats * log2_of_e / (t + 1.0));
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
            std::int64_t constant = 0;  // of every occurrence
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
            } else if (uses_k1(options.model)) {
                part = variant_of_bm25(options, n, df, f, length, total / n, constant);
            } else if (uses_c(options.model)) {
                part = divergence(options, n, df, cf, f, length, total / n);
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
            if (holds) score += count * positive(share(positive(fixed(part)) + constant));
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
