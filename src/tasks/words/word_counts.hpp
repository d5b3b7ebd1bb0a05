// SPDX-License-Identifier: Apache-2.0
// Distinct words, numbered in order of first appearance, with their counts.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/hash.hpp"
#include "device/files/spilled_array.hpp"
#include "text/dictionary.hpp"

namespace quern {

/// Open addressing with a tag next to each number, so that a look-up nearly always compares the letters of only one
/// word, the right one. About 45 bytes a word plus its letters.
class word_count_table {
  public:
    /// The word's number, a new one for a new word; adds `times` to its count. Throws out_of_memory if there are more
    /// words than numbers.
    std::uint32_t add(std::string_view word, std::uint64_t times = 1) {
        return add(word, hash64(word), times);
    }
    /// Adds every word of another counts; `numbers` maps the numbers there to those here.
    void add(const word_count_table& other, std::vector<std::uint32_t>& numbers);

    std::uint32_t size() const { return static_cast<std::uint32_t>(entries_.size()); }
    std::string_view word(std::uint32_t number) const {
        const entry& e = entries_[number];
        return std::string_view(letters_).substr(e.begin, e.size);
    }
    std::uint64_t count(std::uint32_t number) const { return entries_[number].count; }
    std::uint64_t memory_bytes() const {
        return letters_.capacity() + entries_.capacity() * sizeof(entry) + slots_.capacity() * sizeof(slot);
    }

  private:
    struct entry {
        std::uint64_t begin, hash, count;
        std::uint32_t size;
    };
    struct slot {
        std::uint32_t tag, number_plus_one;  ///< 0: empty
    };
    static std::uint32_t tag_of(std::uint64_t hash) { return static_cast<std::uint32_t>(hash >> 32); }

    std::uint32_t add(std::string_view word, std::uint64_t hash, std::uint64_t times);
    void grow();

    std::string letters_;
    std::vector<entry> entries_;
    std::vector<slot> slots_;  ///< a power of two, at most two thirds full
};

/// The words of a space, and their ids: the most frequent ones, by falling frequency, then by bytes.
struct chosen_words {
    std::vector<std::string> words;  ///< by id
    std::vector<std::uint64_t> frequencies;
    spilled_array<std::uint32_t> id_of;  ///< of each number of the counts; unknown_word if it is not chosen

    std::uint32_t size() const { return static_cast<std::uint32_t>(words.size()); }
};

/// `place` must outlive the result.
chosen_words choose_words(const word_count_table& distinct, std::uint64_t min_count, std::uint32_t max,
                          cpu_place& place);
/// The same for the words of a dictionary, with their counts by id: 0 for one that does not occur.
chosen_words choose_words(const text::dictionary_view& words, std::span<const std::uint64_t> counts,
                          std::uint64_t min_count, std::uint32_t max, cpu_place& place);

}  // namespace quern
