// SPDX-License-Identifier: Apache-2.0
// The steps of the methods over ids between primitives (occurrences.hpp). A plain header, which nvcc reads too. Positions of
// words, items and ranges are numbers below 2^32; pointers are to memory of the place.
#pragma once

#include <cstdint>

#include "ops/ngram_likelihood/rows/formula.hpp"

namespace quern::ngram_detail {

/// Ranges of items: range s has the items [offsets[s], offsets[s + 1]); of_item[i] is the range of item i.
struct range_table {
    const std::uint64_t* offsets;
    const std::uint32_t* of_item;

    constexpr std::uint64_t begin_of(std::uint64_t item) const { return offsets[of_item[item]]; }
    constexpr std::uint64_t end_of(std::uint64_t item) const {
        return offsets[of_item[item] + std::uint64_t{1}];
    }
    constexpr std::uint32_t length_of(std::uint64_t item) const {
        return static_cast<std::uint32_t>(end_of(item) - begin_of(item));
    }
};

/// out[i] = i.
struct count_up {
    std::uint32_t* out;
    constexpr void operator()(std::uint64_t i) const { out[i] = static_cast<std::uint32_t>(i); }
};

/// out[i] = values[i].
struct copy_values {
    const std::uint32_t* values;
    std::uint32_t* out;
    constexpr void operator()(std::uint64_t i) const { out[i] = values[i]; }
};

/// out[i] = values[at[i]].
template <class T>
struct gather {
    const T* values;
    const std::uint32_t* at;
    T* out;
    constexpr void operator()(std::uint64_t i) const { out[i] = values[at[i]]; }
};

/// out[i] = value.
template <class T>
struct fill {
    T* out;
    T value;
    constexpr void operator()(std::uint64_t i) const { out[i] = value; }
};

/// out[at[i]] = values[i].
template <class T>
struct scatter {
    const T* values;
    const std::uint32_t* at;
    T* out;
    constexpr void operator()(std::uint64_t i) const { out[at[i]] = values[i]; }
};

/// The number of words left in its document at each position, including its own, at most `max`.
struct count_left {
    const std::uint64_t* documents;
    const std::uint32_t* document_of;
    unsigned max;
    std::uint8_t* left;
    constexpr void operator()(std::uint64_t i) const {
        const std::uint64_t all = documents[document_of[i] + std::uint64_t{1}] - i;
        left[i] = static_cast<std::uint8_t>(all < max ? all : max);
    }
};

// ---- Prefix doubling ----

/// flags[i] becomes 1 where keys[i] is not keys[i - 1] (and flags[0]); others do not change.
struct flag_changes {
    const std::uint32_t* keys;
    std::uint8_t* flags;
    constexpr void operator()(std::uint64_t i) const {
        if (i == 0 || keys[i] != keys[i - 1]) flags[i] = 1;
    }
};

/// out[to[i]] = ranks[i].
struct scatter_ranks {
    const std::uint64_t* ranks;
    const std::uint32_t* to;
    std::uint32_t* out;
    constexpr void operator()(std::uint64_t i) const { out[to[i]] = static_cast<std::uint32_t>(ranks[i]); }
};

/// out[i] = the rank of the position `after` words after positions[i], 0 past its document's end.
struct ranks_after {
    const std::uint32_t* positions;
    const std::uint8_t* left;
    unsigned after;
    const std::uint32_t* ranks;
    std::uint32_t* out;
    constexpr void operator()(std::uint64_t i) const {
        out[i] = left[positions[i]] > after ? ranks[positions[i] + std::uint64_t{after}] : 0;
    }
};

/// shared[i] = the number of equal leading words of positions[i - 1] and positions[i], at most the words left; 0 for the
/// first. `Words` compares the words at two positions for equality.
template <class Words>
struct count_shared {
    Words words;
    const std::uint8_t* left;
    const std::uint32_t* positions;
    std::uint8_t* shared;
    constexpr void operator()(std::uint64_t i) const {
        std::uint8_t n = 0;
        if (i != 0) {
            const std::uint32_t a = positions[i - 1], b = positions[i];
            const std::uint8_t both = left[a] < left[b] ? left[a] : left[b];
            while (n < both && words.equal(std::uint64_t{a} + n, std::uint64_t{b} + n)) ++n;
        }
        shared[i] = n;
    }
};
struct words_by_id {
    const std::uint32_t* ids;
    constexpr bool equal(std::uint64_t a, std::uint64_t b) const { return ids[a] == ids[b]; }
};

// ---- Counting, from sorted positions ----

/// flags[i] = whether n words are left at positions[i].
struct flag_long {
    const std::uint32_t* positions;
    const std::uint8_t* left;
    unsigned n;
    std::uint8_t* flags;
    constexpr void operator()(std::uint64_t i) const { flags[i] = left[positions[i]] >= n ? 1 : 0; }
};

/// flags[i] = whether an n-gram begins: shared[items[i]] < n, or items that end with their documents were skipped before it
/// (those come first within an n-gram; what they share with the next one does not describe the item before them).
struct flag_ngrams {
    const std::uint8_t* shared;
    const std::uint32_t* items;
    unsigned n;
    std::uint8_t* flags;
    constexpr void operator()(std::uint64_t i) const {
        flags[i] = i == 0 || shared[items[i]] < n || items[i - 1] + 1 != items[i] ? 1 : 0;
    }
};

/// flags[i] becomes 1 where positions[i] is in another document than the previous one; others do not change.
struct flag_documents {
    const std::uint32_t* positions;
    const std::uint32_t* document_of;
    std::uint8_t* flags;
    constexpr void operator()(std::uint64_t i) const {
        if (i != 0 && document_of[positions[i]] != document_of[positions[i - 1]]) flags[i] = 1;
    }
};

/// flags[items[begin of s]] = 1 for range s.
struct flag_begins {
    const std::uint64_t* offsets;
    const std::uint32_t* items;
    std::uint8_t* flags;
    constexpr void operator()(std::uint64_t s) const { flags[items[offsets[s]]] = 1; }
};

/// out[items[i]] = the number of items in the range of item i.
struct scatter_lengths {
    range_table ranges;
    const std::uint32_t* items;
    std::uint32_t* out;
    constexpr void operator()(std::uint64_t i) const { out[items[i]] = ranges.length_of(i); }
};

/// out[items[i]] = what the range of item i adds to `sums`, which are inclusive.
struct scatter_sums {
    range_table ranges;
    const std::uint64_t* sums;
    const std::uint32_t* items;
    std::uint32_t* out;
    constexpr void operator()(std::uint64_t i) const {
        const std::uint64_t begin = ranges.begin_of(i), before = begin == 0 ? 0 : sums[begin - 1];
        out[items[i]] = static_cast<std::uint32_t>(sums[ranges.end_of(i) - 1] - before);
    }
};

// ---- Rows ----

/// Columns of rows in memory of the place; histories: null if not requested.
struct row_columns {
    std::uint64_t* in_collection;
    double* weights;
    std::uint64_t* history_in_collection;
    std::uint32_t *documents, *firsts, *in_document, *history_in_document;

    /// Writes row r. `document_words`: the length of the document.
    constexpr void write(std::uint64_t r, std::uint32_t document, std::uint32_t first,
                         const ngram_counts& counts, std::uint64_t holders, std::uint64_t document_words,
                         const row_formula& formula) const {
        documents[r] = document;
        firsts[r] = first;
        in_document[r] = static_cast<std::uint32_t>(counts.in_document);
        in_collection[r] = counts.in_collection;
        weights[r] = formula.weight(counts, holders, document_words);
        if (history_in_document == nullptr) return;
        history_in_document[r] = static_cast<std::uint32_t>(counts.history_in_document);
        history_in_collection[r] = counts.history_in_collection;
    }
};

/// The input for rows of one n, by the sorted order. Items are the occurrences, ordered by n-gram or additionally by
/// position.
struct write_sorted_rows {
    range_table ngrams{},  ///< of items, in either order
        rows{},            ///< of items by position
        histories{};       ///< of items in the order of the n-grams
    const std::uint32_t *positions = nullptr,
                        *items = nullptr;  ///< by position: where, and its index in n-gram order
    /// Of items in n-gram order: the history's count in the document, and its distinct followers there; followers: null if
    /// not requested.
    const std::uint32_t *history_in_document = nullptr, *followers = nullptr;
    const std::uint32_t* document_of = nullptr;
    const std::uint64_t* documents = nullptr;
    const std::uint32_t* kept = nullptr;  ///< the rows to write; null: all
    row_formula formula{};
    row_columns to{};
    std::uint64_t first_row = 0;  ///< the row that is written as row 0

    constexpr void operator()(std::uint64_t i) const {
        const std::uint64_t r = kept != nullptr ? kept[first_row + i] : first_row + i;
        const std::uint64_t at = rows.offsets[r];
        const std::uint32_t position = positions[at], item = items[at], document = document_of[position];
        const std::uint64_t end = ngrams.end_of(at), begin = ngrams.begin_of(at);
        const ngram_counts counts{.in_document = rows.offsets[r + 1] - at,
                                  .history_in_document = history_in_document[item],
                                  .in_collection = end - begin,
                                  .history_in_collection = histories.length_of(item),
                                  .followers = followers == nullptr ? 0 : followers[item]};
        const std::uint64_t holders = rows.of_item[end - 1] - rows.of_item[begin] + std::uint64_t{1};
        to.write(i, document, static_cast<std::uint32_t>(position - documents[document]), counts, holders,
                 documents[document + std::uint64_t{1}] - documents[document], formula);
    }
};

/// flags[r] = whether the n-gram of row r occurs at least `least` times.
struct flag_frequent_rows {
    range_table ngrams;
    const std::uint64_t* row_offsets;
    std::uint64_t least;
    std::uint8_t* flags;
    constexpr void operator()(std::uint64_t r) const {
        flags[r] = ngrams.length_of(row_offsets[r]) >= least ? 1 : 0;
    }
};
/// flags[s] = whether n-gram s occurs at least `least` times.
struct flag_frequent {
    const std::uint64_t* offsets;
    std::uint64_t least;
    std::uint8_t* flags;
    constexpr void operator()(std::uint64_t s) const {
        flags[s] = offsets[s + 1] - offsets[s] >= least ? 1 : 0;
    }
};

}  // namespace quern::ngram_detail
