// SPDX-License-Identifier: Apache-2.0
// The steps between primitives (items.hpp) of levels.hpp. A plain header: nvcc reads it. A *spot* is where an occurrence's words
// are found (occurrence_table), a *slot* its place in the order. Runs are numbered from 1; run r has the items
// [begins[r - 1], begins[r]).
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

// ---- Slots: occurrences in their order so far ----

/// What a slot shares with the one before it while they are not told apart.
inline constexpr std::uint8_t still_equal = 255;

/// keys[i] = the first words of slot i, as many fields of `bits` bits: a word's id + 1, or 0 beyond its document's end.
template <class Key>
struct make_first_keys {
    const std::uint32_t* spots;
    occurrence_table text;
    unsigned words, bits;
    Key* keys;
    constexpr void operator()(std::uint64_t i) const {
        const std::uint32_t spot = spots[i];
        Key key = 0;
        for (unsigned w = 0; w < words; ++w)
            key = (w == 0 ? Key{0} : static_cast<Key>(key << bits)) |
                  (text.left[spot] > w ? text.word(spot, w) + Key{1} : Key{0});
        keys[i] = key;
    }
};

/// shared[i] = how many fields the sorted keys i - 1 and i begin alike, or still_equal.
template <class Key>
struct share_first_keys {
    const Key* keys;
    unsigned words, bits;
    std::uint8_t* shared;
    constexpr void operator()(std::uint64_t i) const {
        if (i != 0 && keys[i] == keys[i - 1]) {
            shared[i] = still_equal;
            return;
        }
        unsigned alike = 0;
        while (i != 0 && alike < words &&
               keys[i] >> (bits * (words - 1 - alike)) == keys[i - 1] >> (bits * (words - 1 - alike)))
            ++alike;
        shared[i] = static_cast<std::uint8_t>(alike);
    }
};

/// flags[i] = whether slot slots[i] (null: i) has more to tell apart than n words: it is not alone, and has n.
struct flag_active {
    const std::uint32_t *slots, *spots;
    const std::uint8_t *shared, *left;
    std::uint64_t size;  ///< all slots
    unsigned n;
    std::uint8_t* flags;
    constexpr void operator()(std::uint64_t i) const {
        const std::uint64_t s = slots == nullptr ? i : slots[i];
        const bool together = shared[s] == still_equal || (s + 1 < size && shared[s + 1] == still_equal);
        flags[i] = together && left[spots[s]] >= n ? 1 : 0;
    }
};

/// out[i] = whether the n-gram of slot slots[i] (null: i) begins there.
struct mark_ngrams {
    const std::uint32_t* slots;
    const std::uint8_t* shared;
    std::uint32_t* out;
    constexpr void operator()(std::uint64_t i) const {
        out[i] = i == 0 || shared[slots == nullptr ? i : slots[i]] != still_equal ? 1 : 0;
    }
};

/// keys[i] = the n-gram of active slot i, then the word behind `behind` words, + 1, or 0 beyond its document's end.
template <class Key>
struct make_keys {
    const std::uint32_t *slots, *spots, *ngrams;
    occurrence_table text;
    unsigned behind, bits;
    Key* keys;
    constexpr void operator()(std::uint64_t i) const {
        const std::uint32_t spot = spots[slots[i]];
        const Key word = text.left[spot] > behind ? text.word(spot, behind) + Key{1} : Key{0};
        keys[i] = static_cast<Key>(ngrams[i]) << bits | word;
    }
};

/// shared[slots[i]] = `words` where sorted keys are told apart by their words.
template <class Key>
struct share_keys {
    const Key* keys;
    const std::uint32_t* slots;
    unsigned bits;
    std::uint8_t words;
    std::uint8_t* shared;
    constexpr void operator()(std::uint64_t i) const {
        if (i != 0 && keys[i] != keys[i - 1] && keys[i] >> bits == keys[i - 1] >> bits)
            shared[slots[i]] = words;
    }
};

// ---- Histories: slots in the order of n - 1 words ----

/// out[s] = whether slot s goes on to n words.
struct mark_followed {
    const std::uint32_t* spots;
    const std::uint8_t* left;
    unsigned n;
    std::uint32_t* out;
    constexpr void operator()(std::uint64_t s) const { out[s] = left[spots[s]] >= n ? 1 : 0; }
};

/// out[s] = whether at slot s an n-gram begins, or its next document.
template <class Mark>
struct mark_documents {
    const std::uint32_t *spots, *document_of;
    const std::uint8_t* shared;
    Mark* out;
    constexpr void operator()(std::uint64_t s) const {
        out[s] = s == 0 || shared[s] != still_equal || document_of[spots[s]] != document_of[spots[s - 1]];
    }
};

/// From the number of each item's run, from 1: where runs begin, and behind the last one.
struct find_begins {
    const std::uint32_t* runs;
    std::uint64_t items;
    std::uint32_t* begins;
    constexpr void operator()(std::uint64_t i) const {
        if (i == 0 || runs[i] != runs[i - 1]) begins[runs[i] - 1] = static_cast<std::uint32_t>(i);
        if (i + 1 == items) begins[runs[i]] = static_cast<std::uint32_t>(items);
    }
};

/// counts[s] = how many slots of its run go on; `followed`: inclusive sums.
struct count_followed {
    const std::uint32_t *runs, *begins, *followed;
    std::uint32_t* counts;
    constexpr void operator()(std::uint64_t s) const {
        const std::uint32_t begin = begins[runs[s] - 1], end = begins[runs[s]];
        counts[s] = followed[end - 1] - (begin == 0 ? 0 : followed[begin - 1]);
    }
};

// ---- Rows: runs of slots of one n-gram and one document; some of what ended with its document ----

/// flags[r] = whether row r has n words, and its n-gram occurs `least` times.
struct flag_given_rows {
    const std::uint32_t *row_begins, *spots, *ngrams, *first_rows;
    const std::uint8_t* left;
    unsigned n;
    std::uint64_t least;
    std::uint8_t* flags;
    constexpr void operator()(std::uint64_t r) const {
        const std::uint32_t g = ngrams[r];
        flags[r] = left[spots[row_begins[r]]] >= n &&
                           row_begins[first_rows[g]] - row_begins[first_rows[g - 1]] >= least
                       ? 1
                       : 0;
    }
};
/// out[i] = what the first slot of row kept[i] has.
struct take_of_rows {
    const std::uint32_t *kept, *row_begins, *of_slots;
    std::uint32_t* out;
    constexpr void operator()(std::uint64_t i) const { out[i] = of_slots[row_begins[kept[i]]]; }
};
/// to[d] += counts[d].
struct add_counts {
    const std::uint64_t* counts;
    std::uint32_t* to;
    constexpr void operator()(std::uint64_t d) const { to[d] += static_cast<std::uint32_t>(counts[d]); }
};

/// What slots know of their histories; null for the first word, whose history is the document and the collection.
struct slot_histories {
    const std::uint32_t *in_document, *in_collection;
    const std::uint32_t* runs;  ///< of each slot's history and document, from 1; null where not asked for
    const std::uint64_t* followers;       ///< of each such run; [0] is none
    const std::uint32_t* distinct_words;  ///< of documents, for the first word; null where not asked for
    std::uint64_t words;
};

struct write_level_rows {
    occurrence_table text{};
    const std::uint64_t* documents = nullptr;  ///< their offsets
    slot_histories history{};
    const std::uint32_t *spots = nullptr, *row_begins = nullptr, *ngrams = nullptr, *first_rows = nullptr;
    const std::uint32_t* kept = nullptr;  ///< the rows to write
    row_formula formula{};
    row_columns to{};
    std::uint64_t first_row = 0;  ///< which row is written as row 0

    constexpr void operator()(std::uint64_t i) const {
        const std::uint64_t r = kept[first_row + i];
        const std::uint32_t slot = row_begins[r], spot = spots[slot], document = text.document_of[spot];
        const std::uint32_t first = first_rows[ngrams[r] - 1], last = first_rows[ngrams[r]];
        const std::uint64_t document_words = documents[document + std::uint64_t{1}] - documents[document];
        ngram_counts counts{.in_document = row_begins[r + 1] - slot,
                            .history_in_document = document_words,
                            .in_collection = row_begins[last] - row_begins[first],
                            .history_in_collection = history.words,
                            .followers = 0};
        if (history.in_document != nullptr) {
            counts.history_in_document = history.in_document[slot];
            counts.history_in_collection = history.in_collection[slot];
            if (history.runs != nullptr) counts.followers = history.followers[history.runs[slot]];
        } else if (history.distinct_words != nullptr) {
            counts.followers = history.distinct_words[document];
        }
        to.write(i, document, text.firsts[spot], counts, last - first, document_words, formula);
    }
};

}  // namespace quern::ngram_detail
