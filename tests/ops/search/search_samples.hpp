// SPDX-License-Identifier: Apache-2.0
// Small collections for the tests of search: in the reference's form and encoded.
#pragma once

#include <cstdint>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "ops/search/postings.hpp"
#include "ops/search/search_impl.hpp"
#include "reference/search_reference.hpp"

namespace quern::search_samples {

struct sample {
    std::vector<std::uint32_t> lengths;
    std::vector<reference::word_documents> words;

    std::uint64_t total() const { return std::accumulate(lengths.begin(), lengths.end(), std::uint64_t{0}); }
};

/// One word's list; the bytes belong to it.
struct encoded_list {
    std::string bytes;
    search_detail::postings_writer::totals totals{};

    encoded_list(const reference::word_documents& documents, std::span<const std::uint32_t> lengths) {
        search_detail::postings_writer writer(bytes, lengths);
        for (const auto& [document, frequency] : documents) writer.add(document, frequency);
        totals = writer.finish_list();
    }
    posting_list view() const { return {bytes, totals.document_frequency, totals.collection_frequency}; }
};

/// A collection where word w occurs in a document with probability densities[w]; frequencies mostly 1 and,
/// where `heavy`, sometimes large. Lengths are at least the sum of the frequencies and cluster, so that
/// scores tie.
inline sample random_sample(std::uint32_t documents, const std::vector<double>& densities, std::uint64_t seed,
                            bool heavy = true) {
    std::mt19937_64 random(seed);
    const auto uniform = [&] { return static_cast<double>(random() >> 11) * 0x1p-53; };
    sample result;
    result.words.resize(densities.size());
    std::vector<std::uint64_t> used(documents);
    for (std::size_t w = 0; w < densities.size(); ++w)
        for (std::uint32_t d = 0; d < documents; ++d) {
            if (uniform() >= densities[w]) continue;
            std::uint32_t frequency = 1;
            while (uniform() < 0.4) ++frequency;
            if (heavy && random() % 64 == 0) frequency = 1 + static_cast<std::uint32_t>(random() % 3000);
            result.words[w].emplace(d, frequency);
            used[d] += frequency;
        }
    for (std::uint32_t d = 0; d < documents; ++d)
        result.lengths.push_back(static_cast<std::uint32_t>(used[d] + 50 * (random() % 6)));
    return result;
}

inline constexpr ranking_model all_models[] = {
    ranking_model::bm25,   ranking_model::ql,    ranking_model::dirichlet, ranking_model::two_stage,
    ranking_model::lucene, ranking_model::atire, ranking_model::robertson, ranking_model::bm25_plus,
    ranking_model::bm25l,  ranking_model::pl2,   ranking_model::inl2};
inline constexpr search_detail::strategy all_strategies[] = {{4096, false}, {4096, true}, {1, false},
                                                             {1, true},     {100, false}, {100, true}};

/// As search_query::passing.
inline std::vector<std::uint64_t> bits_of(std::span<const std::uint32_t> chosen, std::size_t documents) {
    std::vector<std::uint64_t> bits((documents + 63) / 64);
    for (const std::uint32_t d : chosen) bits[d / 64] |= std::uint64_t{1} << d % 64;
    return bits;
}

using query = std::vector<std::pair<std::size_t, std::uint32_t>>;  // word, count

struct encoded_query {
    /// Some of a word's documents and a few that have words but not this one, different for each word; none for every
    /// fourth word.
    static reference::word_documents in_titles(const sample& collection, std::size_t word) {
        reference::word_documents titles;
        if (word % 4 == 3) return titles;
        for (const auto& [document, _] : collection.words[word])
            if (document % (3 + word) == word) titles[document] = 1;
        for (std::size_t d = word; d < collection.lengths.size(); d += 97 + word)
            if (collection.lengths[d] != 0) titles[static_cast<std::uint32_t>(d)] = 1;
        return titles;
    }

    std::vector<encoded_list> lists, titles;
    std::vector<reference::query_word> words;
    std::vector<query_term> terms;

    encoded_query(const sample& collection, const query& requested, bool with_lengths = true) {
        for (const auto& [word, count] : requested) {
            lists.emplace_back(collection.words[word],
                               with_lengths ? collection.lengths : std::span<const std::uint32_t>{});
            words.push_back({collection.words[word], count, in_titles(collection, word)});
        }
        for (const auto& word : words) titles.emplace_back(word.titles, std::span<const std::uint32_t>{});
        for (std::size_t i = 0; i < requested.size(); ++i)
            terms.push_back({lists[i].view(), requested[i].second, titles[i].view()});
    }
};

}  // namespace quern::search_samples
