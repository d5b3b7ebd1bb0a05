// SPDX-License-Identifier: Apache-2.0
// The steps between primitives that the dictionary method is made of, one overload for each place. Positions of words, items
// and stretches are numbers below 2^32. No output overlaps an input. None of them synchronises on a GPU.
#pragma once

#include <cstdint>

#include "device/array.hpp"
#include "ops/ngram_likelihood/formula.hpp"

namespace quern::ngram_detail {

/// Stretches of items: stretch s has the items [offsets[s], offsets[s + 1]); of_item[i] is the stretch that i is in.
template <class Place>
struct stretches_on {
    span_on<Place, const std::uint64_t> offsets;
    span_on<Place, const std::uint32_t> of_item;
    std::size_t count = 0;
};

/// 0, 1, 2, …
void count_up(cpu_place& place, std::span<std::uint32_t> out);
void copy(cpu_place& place, std::span<const std::uint32_t> values, std::span<std::uint32_t> out);
/// out[i] = values[at[i]].
void gather(cpu_place& place, std::span<const std::uint32_t> values, std::span<const std::uint32_t> at,
            std::span<std::uint32_t> out);
void gather(cpu_place& place, std::span<const std::uint8_t> values, std::span<const std::uint32_t> at,
            std::span<std::uint8_t> out);

// ---- Prefix doubling ----

/// Of each position, its document, and how many words are left there with its own, at most `most`.
void locate(cpu_place& place, std::span<const std::uint64_t> documents, unsigned most,
            std::span<std::uint32_t> document_of, std::span<std::uint8_t> left);
/// flags[i] becomes 1 where keys[i] is not keys[i - 1] (and flags[0]), and stays as it is elsewhere.
void flag_changes(cpu_place& place, std::span<const std::uint32_t> keys, std::span<std::uint8_t> flags);
/// out[to[i]] = ranks[i].
void scatter_ranks(cpu_place& place, std::span<const std::uint64_t> ranks, std::span<const std::uint32_t> to,
                   std::span<std::uint32_t> out);
/// out[i] = the rank of the position `behind` words behind positions[i], 0 beyond its document's end.
void ranks_behind(cpu_place& place, std::span<const std::uint32_t> positions,
                  std::span<const std::uint8_t> left, unsigned behind, std::span<const std::uint32_t> ranks,
                  std::span<std::uint32_t> out);
/// shared[i] = with how many words positions[i - 1] and positions[i] begin alike, at most what is left; 0 of the first.
void count_shared(cpu_place& place, std::span<const std::uint32_t> words, std::span<const std::uint8_t> left,
                  std::span<const std::uint32_t> positions, std::span<std::uint8_t> shared);

// ---- Counting ----

/// flags[i] = whether n words are left at positions[i].
void flag_long(cpu_place& place, std::span<const std::uint32_t> positions, std::span<const std::uint8_t> left,
               unsigned n, std::span<std::uint8_t> flags);
/// flags[i] = whether an n-gram begins: shared[items[i]] < n, or items that end with their documents were left out before it
/// (those come first of an n-gram; what they share with the next one says nothing of the item before them).
void flag_ngrams(cpu_place& place, std::span<const std::uint8_t> shared, std::span<const std::uint32_t> items,
                 unsigned n, std::span<std::uint8_t> flags);
/// flags[i] becomes 1 where positions[i] is in another document than the one before, and stays as it is elsewhere.
void flag_documents(cpu_place& place, std::span<const std::uint32_t> positions,
                    std::span<const std::uint32_t> document_of, std::span<std::uint8_t> flags);
/// flags[items[begin of s]] = 1 for each stretch s.
void flag_begins(cpu_place& place, std::span<const std::uint64_t> offsets, std::size_t stretches,
                 std::span<const std::uint32_t> items, std::span<std::uint8_t> flags);
/// out[items[i]] = how many items the stretch has that i is in.
void scatter_lengths(cpu_place& place, const stretches_on<cpu_place>& stretches,
                     std::span<const std::uint32_t> items, std::span<std::uint32_t> out);
/// out[items[i]] = what the stretch that i is in adds to `sums`, which are inclusive.
void scatter_sums(cpu_place& place, const stretches_on<cpu_place>& stretches,
                  std::span<const std::uint64_t> sums, std::span<const std::uint32_t> items,
                  std::span<std::uint32_t> out);

/// What rows of one n are made from. Items are the occurrences: in the order of the n-grams, or of those by position.
template <class Place>
struct row_sources {
    stretches_on<Place> ngrams;     ///< of items, in either order
    stretches_on<Place> rows;       ///< of items by position
    stretches_on<Place> histories;  ///< of items in the order of the n-grams
    span_on<Place, const std::uint32_t> positions,
        items;  ///< by position: where, and which in the order of the n-grams
    /// Of items in the order of the n-grams: the history's count in the document, and its distinct words behind.
    span_on<Place, const std::uint32_t> history_in_document,
        followers;  ///< followers: empty where not asked for
    span_on<Place, const std::uint32_t> document_of;
    span_on<Place, const std::uint64_t> documents;
};
/// Columns of rows, and which of them begin an n-gram.
template <class Place>
struct row_columns {
    span_on<Place, std::uint32_t> documents, firsts, in_document, history_in_document;
    span_on<Place, std::uint64_t> in_collection, history_in_collection;
    span_on<Place, double> weights;
    span_on<Place, std::uint8_t> begins;
};
struct row_formula {
    ngram_measure measure = ngram_measure::likelihood;
    smoother smooth;
    bm25_constants bm25{0, 0, 0, 0};
    std::uint64_t document_count = 0;
};
void write_rows(cpu_place& place, const row_sources<cpu_place>& from, const row_formula& formula,
                const row_columns<cpu_place>& to);

}  // namespace quern::ngram_detail
