// SPDX-License-Identifier: Apache-2.0
// The steps between primitives (items.hpp) of levels.hpp. A plain header: nvcc reads it. A *spot* is where an occurrence's words
// are found (occurrence_table). Runs of items are numbered from 1; run r has the items [begins[r - 1], begins[r]).
#pragma once

#include <cstdint>

#include "ops/ngram_likelihood/occurrences.hpp"
#include "ops/ngram_likelihood/steps.hpp"

namespace quern::ngram_detail {

/// firsts[i] = which word of its document position i is.
struct count_firsts {
    const std::uint64_t* documents;
    const std::uint32_t* document_of;
    std::uint32_t* firsts;
    constexpr void operator()(std::uint64_t i) const {
        firsts[i] = static_cast<std::uint32_t>(i - documents[document_of[i]]);
    }
};

/// flags[i] = whether position i has a word in [first, last].
struct flag_words {
    const std::uint32_t* words;
    std::uint32_t first, last;
    std::uint8_t* flags;
    constexpr void operator()(std::uint64_t i) const {
        flags[i] = words[i] >= first && words[i] <= last ? 1 : 0;
    }
};

/// flags[i] = whether item i goes on to n words, and its n-gram so far is frequent enough.
struct flag_followed {
    const std::uint32_t *spots, *runs, *begins;
    const std::uint8_t* left;
    unsigned n;
    std::uint64_t least;
    std::uint8_t* flags;
    constexpr void operator()(std::uint64_t i) const {
        const std::uint32_t run = runs[i];
        flags[i] = left[spots[i]] >= n && begins[run] - begins[run - 1] >= least ? 1 : 0;
    }
};

/// out[i] = whether a run of equal keys begins at item i.
template <class Key>
struct mark_changes {
    const Key* keys;
    std::uint32_t* out;
    constexpr void operator()(std::uint64_t i) const { out[i] = i == 0 || keys[i] != keys[i - 1] ? 1 : 0; }
};

/// out[i] = whether a run of items of one run and one document begins at item i.
struct mark_documents {
    const std::uint32_t *runs, *spots, *document_of;
    std::uint32_t* out;
    constexpr void operator()(std::uint64_t i) const {
        out[i] = i == 0 || runs[i] != runs[i - 1] || document_of[spots[i]] != document_of[spots[i - 1]];
    }
};

/// The same as flags.
struct flag_rows {
    const std::uint32_t *runs, *spots, *document_of;
    std::uint8_t* flags;
    constexpr void operator()(std::uint64_t i) const {
        flags[i] = i == 0 || runs[i] != runs[i - 1] || document_of[spots[i]] != document_of[spots[i - 1]];
    }
};

/// From the number of each item's run: where runs begin, and behind the last one.
struct find_begins {
    const std::uint32_t* runs;
    std::uint64_t items;
    std::uint32_t* begins;
    constexpr void operator()(std::uint64_t i) const {
        if (i == 0 || runs[i] != runs[i - 1]) begins[runs[i] - 1] = static_cast<std::uint32_t>(i);
        if (i + 1 == items) begins[runs[i]] = static_cast<std::uint32_t>(items);
    }
};

/// keys[i] = the run of the history, then the next word. runs: null for the first word.
template <class Key>
struct make_keys {
    const std::uint32_t *spots, *runs;
    occurrence_table text;
    unsigned behind, word_bits;
    Key* keys;
    constexpr void operator()(std::uint64_t i) const {
        const Key history = runs == nullptr ? 0 : static_cast<Key>(runs[i]) << word_bits;
        keys[i] = history | text.word(spots[i], behind);
    }
};

/// flags[i] = whether item i is not alone in its run.
struct flag_together {
    const std::uint32_t *runs, *begins;
    std::uint8_t* flags;
    constexpr void operator()(std::uint64_t i) const {
        flags[i] = begins[runs[i]] - begins[runs[i] - 1] > 1 ? 1 : 0;
    }
};

/// Where rows are of n-grams that occur `least` times: flags[r].
struct flag_frequent_level_rows {
    const std::uint32_t *row_begins, *runs, *begins;
    std::uint64_t least;
    std::uint8_t* flags;
    constexpr void operator()(std::uint64_t r) const {
        const std::uint32_t run = runs[row_begins[r]];
        flags[r] = begins[run] - begins[run - 1] >= least ? 1 : 0;
    }
};

/// begins[g] = the first row of n-gram g + 1; behind the last one, the number of rows.
struct find_row_begins {
    const std::uint32_t *row_begins, *runs;
    std::uint64_t rows;
    std::uint32_t* begins;
    constexpr void operator()(std::uint64_t r) const {
        const std::uint32_t run = runs[row_begins[r]];
        if (r == 0 || runs[row_begins[r - 1]] != run) begins[run - 1] = static_cast<std::uint32_t>(r);
        if (r + 1 == rows) begins[run] = static_cast<std::uint32_t>(rows);
    }
};

/// out[order[row_begins[r]]] = 1.
struct mark_rows {
    const std::uint32_t *row_begins, *order;
    std::uint32_t* out;
    constexpr void operator()(std::uint64_t r) const { out[order[row_begins[r]]] = 1; }
};

/// documents[r] = the document of row r.
struct documents_of_rows {
    const std::uint32_t *row_begins, *spots, *document_of;
    std::uint32_t* documents;
    constexpr void operator()(std::uint64_t r) const { documents[r] = document_of[spots[row_begins[r]]]; }
};

/// to[at[i]] += counts[i]; the places are different ones.
struct add_counts {
    const std::uint32_t* at;
    const std::uint64_t* counts;
    std::uint32_t* to;
    constexpr void operator()(std::uint64_t i) const { to[at[i]] += static_cast<std::uint32_t>(counts[i]); }
};

/// The history's counts. Of the first word: the document's and the collection's words.
struct level_history {
    /// Of items before they were sorted: the run of the history, and of the history in one document.
    const std::uint32_t *runs, *begins, *in_document, *in_document_begins;
    const std::uint32_t* follower_sums;   ///< inclusive, of the same items; null where not asked for
    const std::uint32_t* distinct_words;  ///< of documents, for the first word; null where not asked for
    std::uint64_t words;
};

struct write_level_rows {
    occurrence_table text;
    const std::uint64_t* documents;  ///< their offsets
    level_history history;
    const std::uint32_t *spots, *order;      ///< of sorted items: where, and which before
    const std::uint32_t *runs, *begins;      ///< their n-grams
    const std::uint32_t *row_begins, *kept;  ///< kept: the rows to write; null: all
    const std::uint32_t* rows_of_runs;       ///< where an n-gram's rows begin; null where not asked for
    row_formula formula;
    row_columns to;
    std::uint64_t first_row;  ///< which row is written as row 0

    constexpr void operator()(std::uint64_t i) const {
        const std::uint64_t r = kept != nullptr ? kept[first_row + i] : first_row + i;
        const std::uint32_t at = row_begins[r], spot = spots[at], run = runs[at];
        const std::uint32_t document = text.document_of[spot];
        const std::uint64_t document_words = documents[document + std::uint64_t{1}] - documents[document];
        ngram_counts counts{.in_document = row_begins[r + 1] - at,
                            .history_in_document = document_words,
                            .in_collection = begins[run] - begins[run - 1],
                            .history_in_collection = history.words,
                            .followers = 0};
        if (history.runs == nullptr) {
            if (history.distinct_words != nullptr) counts.followers = history.distinct_words[document];
        } else {
            const std::uint32_t item = order[at], of = history.runs[item], in = history.in_document[item];
            const std::uint32_t begin = history.in_document_begins[in - 1],
                                end = history.in_document_begins[in];
            counts.history_in_document = end - begin;
            counts.history_in_collection = history.begins[of] - history.begins[of - 1];
            if (history.follower_sums != nullptr)
                counts.followers =
                    history.follower_sums[end - 1] - (begin == 0 ? 0 : history.follower_sums[begin - 1]);
        }
        const std::uint64_t holders = rows_of_runs == nullptr ? 0 : rows_of_runs[run] - rows_of_runs[run - 1];
        to.write(i, document, text.firsts[spot], counts, holders, document_words, formula);
    }
};

}  // namespace quern::ngram_detail
