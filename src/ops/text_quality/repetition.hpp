// SPDX-License-Identifier: Apache-2.0
// Parts of a text that occur again: lines, paragraphs, and n-grams of words. Exact: what has the same hash is compared.
//
// An n-gram is numbered by the numbers of the two (n-1)-grams in it, and only where both of these occur more than once:
// in ordinary text little is left beyond n = 4.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "ops/text_quality/words.hpp"

namespace quern::text_quality {

/// Numbers from 0 for different keys, in the order of their first occurrence, with their counts.
class key_numbers {
  public:
    static constexpr std::uint32_t none = UINT32_MAX;

    /// Forgets all keys. So many are expected.
    void begin(std::size_t keys);
    /// The number of a key; is_same(number) tells whether the key with this number and the same hash is the same.
    template <class IsSame>
    std::uint32_t number(std::uint64_t key, IsSame&& is_same) {
        for (std::size_t slot = slot_of(key);; slot = (slot + 1) & mask_) {
            const std::uint32_t at = slots_[slot];
            if (at == 0) {
                entries_.push_back({key, 1});
                slots_[slot] = static_cast<std::uint32_t>(entries_.size());
                if (2 * entries_.size() > slots_.size()) grow();
                return static_cast<std::uint32_t>(entries_.size() - 1);
            }
            entry& known = entries_[at - 1];
            if (known.key != key || !is_same(at - 1)) continue;
            ++known.count;
            return at - 1;
        }
    }
    std::uint32_t count(std::uint32_t number) const { return entries_[number].count; }
    std::size_t size() const { return entries_.size(); }

  private:
    std::size_t slot_of(std::uint64_t key) const { return (key * 0x9E3779B97F4A7C15u) >> shift_; }
    void make_slots(std::size_t slots);
    void grow();

    struct entry {
        std::uint64_t key;
        std::uint32_t count;
    };
    std::vector<std::uint32_t> slots_;  ///< the number and 1; 0: free
    std::vector<entry> entries_;
    unsigned shift_ = 64;
    std::size_t mask_ = 0;
};

/// Parts that are equal to an earlier one.
class repeated_parts {
  public:
    void begin() { parts_.clear(); }
    void add(std::string_view part) { parts_.push_back(part); }
    std::uint64_t parts() const { return parts_.size(); }
    /// Counts them, once after all parts.
    void find();
    std::uint64_t repeated() const { return repeated_; }
    std::uint64_t repeated_characters() const { return characters_; }

  private:
    key_numbers numbers_;
    std::vector<std::string_view> parts_, first_;
    std::uint64_t repeated_ = 0, characters_ = 0;
};

class repeated_ngrams {
  public:
    /// Begins a text: 1-grams. Its words follow in one call of add() or several, then end_words().
    void begin(std::string_view text);
    void add(std::span<const quality_word> words);
    void end_words();
    /// Goes on to n-grams; n may not fall.
    void go_to(unsigned n);
    /// Characters of the most frequent n-gram, of the first of those, with a blank between its words, times its number.
    std::uint64_t top_characters() const;
    /// Reads n-grams from left to right: one that was read before counts with the characters of its words, and the next one
    /// is read after it; else the next one begins at the next word.
    std::uint64_t duplicate_characters();

  private:
    std::uint64_t characters(std::size_t word) const { return before_[word + n_] - before_[word]; }
    void drop_single();

    struct word_place {
        std::uint32_t begin, bytes;
    };

    unsigned n_ = 0;
    std::string_view text_;
    key_numbers numbers_;
    std::vector<std::uint32_t> before_;  ///< characters before each word, and of all
    std::vector<std::uint32_t>
        at_;  ///< by word: the number of the n-gram that begins there, if it occurs again
    std::vector<std::uint32_t> repeats_;  ///< the words that have one, ascending
    std::vector<word_place> first_;       ///< by number of a word: its first occurrence
    std::vector<bool> read_;              ///< by number
};

}  // namespace quern::text_quality
