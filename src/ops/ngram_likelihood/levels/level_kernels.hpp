// SPDX-License-Identifier: Apache-2.0
// The steps of ngram_levels.hpp between primitives (occurrences.hpp). A plain header, which nvcc reads too. A *spot* is the location of
// an occurrence's words (occurrence_table), a *slot* its place in the order. Runs are numbered from 1; run r has the items
// [begins[r - 1], begins[r]).
#pragma once

#include <cstdint>

#include "ops/ngram_likelihood/levels/occurrences.hpp"
#include "ops/ngram_likelihood/papers/counting_kernels.hpp"

namespace quern::ngram_detail {

/// firsts[i] = the index of position i within its document.
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

/// out[i] = words[i] / 2^shift.
struct shift_words {
    const std::uint32_t* words;
    unsigned shift;
    std::uint32_t* out;
    constexpr void operator()(std::uint64_t i) const { out[i] = words[i] >> shift; }
};

// ---- Slots: occurrences in their current order ----

/// The shared length of a slot while it is still equal to the previous one.
inline constexpr std::uint8_t still_equal = 255;

/// keys[i] = the first words of slot i, in fields of `bits` bits: a word's id + 1, or 0 past its document's end.
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

/// shared[i] = the number of equal leading fields of the sorted keys i - 1 and i, or still_equal.
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

/// flags[i] = whether slot slots[i] (null: i) needs more than n words to distinguish: it is not alone, and has n.
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

/// keys[i] = the n-gram of active slot i, then the word `after` words later, + 1, or 0 past its document's end.
template <class Key>
struct make_keys {
    const std::uint32_t *slots, *spots, *ngrams;
    occurrence_table text;
    unsigned after, bits;
    Key* keys;
    constexpr void operator()(std::uint64_t i) const {
        const std::uint32_t spot = spots[slots[i]];
        const Key word = text.left[spot] > after ? text.word(spot, after) + Key{1} : Key{0};
        keys[i] = static_cast<Key>(ngrams[i]) << bits | word;
    }
};

/// shared[slots[i]] = `words` where sorted keys differ in their words.
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

/// out[s] = whether slot s continues to n words.
struct mark_followed {
    const std::uint32_t* spots;
    const std::uint8_t* left;
    unsigned n;
    std::uint32_t* out;
    constexpr void operator()(std::uint64_t s) const { out[s] = left[spots[s]] >= n ? 1 : 0; }
};

/// out[s] = whether an n-gram begins at slot s, or its next document.
template <class Mark>
struct mark_documents {
    const std::uint32_t *spots, *document_of;
    const std::uint8_t* shared;
    Mark* out;
    constexpr void operator()(std::uint64_t s) const {
        out[s] = s == 0 || shared[s] != still_equal || document_of[spots[s]] != document_of[spots[s - 1]];
    }
};

/// From the run number of each item (from 1 on): the start of each run, and the end of the last.
struct find_begins {
    const std::uint32_t* runs;
    std::uint64_t items;
    std::uint32_t* begins;
    constexpr void operator()(std::uint64_t i) const {
        if (i == 0 || runs[i] != runs[i - 1]) begins[runs[i] - 1] = static_cast<std::uint32_t>(i);
        if (i + 1 == items) begins[runs[i]] = static_cast<std::uint32_t>(items);
    }
};

/// counts[s] = the number of slots of its run that continue; `followed`: inclusive sums.
struct count_followed {
    const std::uint32_t *runs, *begins, *followed;
    std::uint32_t* counts;
    constexpr void operator()(std::uint64_t s) const {
        const std::uint32_t begin = begins[runs[s] - 1], end = begins[runs[s]];
        counts[s] = followed[end - 1] - (begin == 0 ? 0 : followed[begin - 1]);
    }
};

// ---- Rows: runs of slots of one n-gram and one document; some of n-grams that ended with their document ----

/// flags[r] = whether row r has n words and its n-gram occurs at least `least` times.
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
/// out[i] = the value of the first slot of row kept[i].
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

/// History data of slots; null for the first word, whose history is the document and the collection.
struct slot_histories {
    const std::uint32_t *in_document, *in_collection;
    const std::uint32_t* runs;       ///< of each slot's history and document, from 1; null if not requested
    const std::uint64_t* followers;  ///< of each such run; [0] has none
    const std::uint32_t* distinct_words;  ///< of documents, for the first word; null if not requested
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
    std::uint64_t first_row = 0;  ///< the row that is written as row 0

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
