// SPDX-License-Identifier: Apache-2.0
// The methods of words the slow, obvious way: every pair is compared, sets are std::set, and frequencies are counted
// separately for each word. No code is shared with src/ops/near_duplicates.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <vector>

#include "quern/ops/near_duplicates.hpp"

namespace quern::reference {

using words = std::vector<std::uint32_t>;

/// compare(a, b): the numbers of the pair, or nothing.
inline std::vector<duplicate_pair> pairs_by(
    std::size_t documents, const duplicate_scope& scope,
    const std::function<std::optional<std::array<std::uint64_t, 2>>(std::size_t, std::size_t)>& compare) {
    std::vector<duplicate_pair> pairs;
    for (std::size_t a = 0; a < documents; ++a) {
        for (std::size_t b = a + 1; b < documents; ++b) {
            const bool a_is_new = a >= scope.first_new, b_is_new = b >= scope.first_new;
            if (!a_is_new && !b_is_new) continue;
            if (a_is_new && b_is_new && !scope.within_new) continue;
            if (const auto numbers = compare(a, b))
                pairs.push_back({static_cast<std::uint32_t>(a), static_cast<std::uint32_t>(b), (*numbers)[0],
                                 (*numbers)[1]});
        }
    }
    return pairs;
}

inline std::set<words> shingles_of(const words& document, std::size_t width) {
    if (document.empty()) return {};
    if (document.size() < width) return {document};
    std::set<words> result;
    for (auto at = document.begin(); static_cast<std::size_t>(document.end() - at) >= width; ++at)
        result.emplace(at, at + static_cast<std::ptrdiff_t>(width));
    return result;
}

inline std::vector<duplicate_pair> shingle_pairs(const std::vector<words>& documents,
                                                 const duplicate_options& options,
                                                 const duplicate_scope& scope) {
    std::vector<std::set<words>> sets;
    for (const words& document : documents) sets.push_back(shingles_of(document, options.shingle));
    return pairs_by(documents.size(), scope,
                    [&](std::size_t a, std::size_t b) -> std::optional<std::array<std::uint64_t, 2>> {
                        std::set<words> both = sets[a];
                        both.insert(sets[b].begin(), sets[b].end());
                        const std::uint64_t in_all = both.size(),
                                            shared = sets[a].size() + sets[b].size() - in_all;
                        // two empty sets are equal
                        if (in_all != 0 &&
                            shared * options.similarity.denominator < in_all * options.similarity.numerator)
                            return std::nullopt;
                        return std::array{in_all - shared, in_all};
                    });
}

/// The quintile of idf, 1 to 5, of each word that occurs; 0 for others.
inline std::vector<unsigned> quintiles_of(const std::vector<words>& documents, std::uint32_t vocabulary) {
    std::vector<std::size_t> frequencies(vocabulary);
    for (std::uint32_t w = 0; w < vocabulary; ++w)
        for (const words& document : documents)
            frequencies[w] += std::count(document.begin(), document.end(), w) != 0 ? 1 : 0;
    std::vector<unsigned> quintiles(vocabulary);
    for (std::uint32_t w = 0; w < vocabulary; ++w) {
        if (frequencies[w] == 0) continue;
        std::size_t occurring = 0, not_rarer = 0;
        for (const std::size_t f : frequencies) {
            occurring += f != 0 ? 1 : 0;
            not_rarer += f >= frequencies[w] ? 1 : 0;
        }
        unsigned q = 1;
        while (5 * not_rarer > q * occurring) ++q;
        quintiles[w] = q;
    }
    return quintiles;
}

inline std::vector<duplicate_pair> simhash_pairs(const std::vector<words>& documents,
                                                 const std::vector<std::uint64_t>& hashes,
                                                 const duplicate_options& options,
                                                 const duplicate_scope& scope) {
    const auto weights = quintiles_of(documents, static_cast<std::uint32_t>(hashes.size()));
    std::vector<std::uint64_t> fingerprints;
    for (const words& document : documents) {
        std::uint64_t fingerprint = 0;
        for (unsigned bit = 0; bit < 64; ++bit) {
            std::int64_t sum = 0;
            for (const std::uint32_t w : std::set<std::uint32_t>(document.begin(), document.end()))
                sum += (hashes[w] >> bit & 1) != 0 ? std::int64_t{weights[w]} : -std::int64_t{weights[w]};
            if (sum > options.cut) fingerprint |= std::uint64_t{1} << bit;
        }
        fingerprints.push_back(fingerprint);
    }
    return pairs_by(documents.size(), scope,
                    [&](std::size_t a, std::size_t b) -> std::optional<std::array<std::uint64_t, 2>> {
                        const auto distance =
                            static_cast<std::uint64_t>(std::popcount(fingerprints[a] ^ fingerprints[b]));
                        if (distance > options.hamming) return std::nullopt;
                        return std::array{distance, std::uint64_t{64}};
                    });
}

inline std::vector<duplicate_pair> i_match_pairs(const std::vector<words>& documents,
                                                 std::uint32_t vocabulary, const duplicate_scope& scope) {
    const auto quintiles = quintiles_of(documents, vocabulary);
    std::vector<std::set<std::uint32_t>> discriminative(documents.size());
    for (std::size_t d = 0; d < documents.size(); ++d)
        for (const std::uint32_t w : documents[d])
            if (quintiles[w] >= 2 && quintiles[w] <= 4) discriminative[d].insert(w);
    return pairs_by(documents.size(), scope,
                    [&](std::size_t a, std::size_t b) -> std::optional<std::array<std::uint64_t, 2>> {
                        if (discriminative[a].empty() || discriminative[a] != discriminative[b])
                            return std::nullopt;
                        return std::array{std::uint64_t{0}, std::uint64_t{1}};
                    });
}

}  // namespace quern::reference
