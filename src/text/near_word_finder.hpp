// SPDX-License-Identifier: Apache-2.0
// Near words without walking the dictionary: a sketch of each word excludes nearly all of them.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string_view>
#include <vector>

#include "text/near_words.hpp"

namespace quern::text {

/// The number of characters of a word, and which it has, once and twice: 64 bits, of which an edit adds one at most and removes
/// one at most. Characters are those of near_words.
struct word_sketch {
    std::uint64_t letters = 0;
    std::uint8_t length = 0;  ///< 255: that or more
};
word_sketch sketch_of(std::string_view word);

/// Appends the positions of the sketches that a word within `bound` edits of one with this sketch can have, ascending.
void collect_near(const std::uint64_t* letters, const std::uint8_t* lengths, std::size_t size, word_sketch of,
                  std::uint32_t bound, std::vector<std::uint32_t>& positions);

/// near_words for many words of one dictionary. Thread-safe.
/// Cost: at first use a pass over the dictionary, and 9 bytes of memory for each of its words; then a pass over these, and the
/// distances of about a thousandth of the words. Walks the dictionary instead if it has more words than `max_words`.
class near_word_finder {
  public:
    static constexpr std::uint32_t max_words = 1 << 23;

    /// The dictionary must outlive it.
    explicit near_word_finder(const dictionary_view& words) : words_(words) {}
    near_word_finder(const near_word_finder&) = delete;
    near_word_finder& operator=(const near_word_finder&) = delete;

    /// As near_words.
    std::vector<near_word> find(std::string_view word, std::uint32_t bound, const context& ctx) const;

  private:
    struct sketches {
        std::vector<std::uint64_t> letters;
        std::vector<std::uint8_t> lengths;
    };
    const sketches& made(const context& ctx) const;

    const dictionary_view& words_;
    mutable std::mutex making_;
    mutable std::unique_ptr<const sketches> owned_;
    mutable std::atomic<const sketches*> made_{nullptr};
};

}  // namespace quern::text
