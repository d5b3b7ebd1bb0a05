// SPDX-License-Identifier: Apache-2.0
// The n-grams of all items, to be found in documents: a filter of bits that stays in the cache, a hash table of distinct
// n-grams, and for each n-gram the items to consider.
//
// An item that needs k of its p positions is listed only under its p - k + 1 rarest: a document that contains k
// positions contains one of these. So an n-gram that many items share, such as the same first sentence of all questions,
// costs a document that contains it nothing unless it alone suffices.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "quern/base/context.hpp"
#include "quern/ops/contamination.hpp"

namespace quern::contamination_detail {

/// Items as sequences of word numbers. Must outlive what is made of it.
struct item_words {
    std::span<const std::uint32_t> words;    ///< numbers below hashes.size()
    std::span<const std::uint64_t> offsets;  ///< the beginning of each item among the words, and the end
    std::span<const std::uint64_t> hashes;   ///< of the words, by number; equal ones cost time only

    std::uint32_t items() const { return static_cast<std::uint32_t>(offsets.size() - 1); }
};

/// Hashes of windows of words: of `length` words, h[0] · base^(length-1) + … + h[length-1], modulo 2^64.
struct window_kind {
    std::uint32_t length = 0;
    std::uint64_t power = 1;  ///< base^length
    std::uint64_t salt = 0;   ///< distinguishes kinds

    static constexpr std::uint64_t base =
        0x9FB21C651E98DF23;  // 3 modulo 8, so that base^k - 1 has few factors of 2

    window_kind() = default;
    window_kind(std::uint32_t words, std::uint64_t kind);
    static std::uint64_t next(std::uint64_t prefix, std::uint64_t hash) { return prefix * base + hash; }
    /// From the hashes of all words before the window, and of all up to its end. All bits depend on all words.
    std::uint64_t key(std::uint64_t before, std::uint64_t to_end) const {
        std::uint64_t x = to_end - before * power + salt;
        x ^= x >> 32;
        x *= 0xD6E8FEB86659FD93;
        return x ^ x >> 32;
    }
};

class item_index {
  public:
    static constexpr std::uint32_t none = 0xffffffff;
    /// Windows of so many words represent all short items of more words in the filter.
    static constexpr std::uint32_t head_words = 4;

    /// The most memory that an index of these items takes, in bytes.
    static std::uint64_t memory_needed(const item_words& items, const contamination_options& options);

    /// Throws usage_error (an option out of range), out_of_memory beyond 2^32 - 2 words, interrupted. Cost: one look-up
    /// for each position.
    item_index(const item_words& items, const contamination_options& options, const context& ctx);

    unsigned ngram() const { return ngram_; }
    std::uint32_t ngrams() const { return static_cast<std::uint32_t>(start_.size()); }  ///< distinct ones
    std::uint64_t memory_bytes() const;

    /// Kinds of windows to look for: n-grams, and those of the short items' lengths up to head_words.
    std::span<const window_kind> whole() const { return whole_; }
    /// The first words of longer short items, and the kinds of their whole windows; of length 0 if there is none.
    const window_kind& head() const { return head_; }
    std::span<const window_kind> beyond_head() const { return beyond_head_; }

    /// False if no item has a window of this key.
    bool may_contain(std::uint64_t key) const {
        const std::uint64_t mask = bits_of(key);
        return (filter_[place(key, filter_.size())] & mask) == mask;
    }
    /// The n-gram with this key and length for which is_equal(its words) is true, or none.
    template <class IsEqual>
    std::uint32_t find(std::uint64_t key, std::uint32_t length, const IsEqual& is_equal) const {
        for (std::size_t at = place(key, slots_.size());; at = at + 1 == slots_.size() ? 0 : at + 1) {
            const slot& s = slots_[at];
            if (s.ngram == none) return none;
            if (s.fingerprint == static_cast<std::uint32_t>(key) && length_[s.ngram] == length &&
                is_equal(words_of(s.ngram)))
                return s.ngram;
        }
    }

    /// Items to consider if a document contains the n-gram, ascending.
    std::span<const std::uint32_t> items_of(std::uint32_t ngram) const {
        return std::span(listed_).subspan(listed_begin_[ngram],
                                          listed_begin_[ngram + 1] - listed_begin_[ngram]);
    }
    /// The n-grams of an item's positions.
    std::span<const std::uint32_t> ngrams_of(std::uint32_t item) const {
        return std::span(at_).subspan(at_begin_[item], at_begin_[item + 1] - at_begin_[item]);
    }
    /// The number of an item's positions that a document must contain; at least 1.
    std::uint64_t needed(std::uint64_t positions) const {
        return (positions * overlap_.numerator + overlap_.denominator - 1) / overlap_.denominator;
    }

  private:
    struct slot {
        std::uint32_t fingerprint = 0;  ///< the lower half of the key
        std::uint32_t ngram = none;
    };

    static std::uint64_t bits_of(std::uint64_t key) {
        return std::uint64_t{1} << (key & 63) | std::uint64_t{1} << (key >> 6 & 63) |
               std::uint64_t{1} << (key >> 12 & 63);
    }
    /// A place in a table of this size, by the upper bits.
    static std::size_t place(std::uint64_t key, std::size_t size) {
        return static_cast<std::size_t>(static_cast<unsigned __int128>(key) * size >> 64);
    }
    std::span<const std::uint32_t> words_of(std::uint32_t ngram) const {
        return items_.words.subspan(start_[ngram], length_[ngram]);
    }
    void choose_kinds();
    void add_item(std::uint32_t item);
    void list_items(const context& ctx);

    item_words items_;
    unsigned ngram_;
    decimal overlap_;
    std::vector<window_kind> whole_, beyond_head_;
    window_kind head_;
    std::vector<std::uint64_t> filter_;
    std::vector<slot> slots_;
    std::vector<std::uint32_t> start_;   ///< of each n-gram, in items_.words
    std::vector<std::uint16_t> length_;  ///< of each n-gram
    std::vector<std::uint32_t> at_, at_begin_;
    std::vector<std::uint32_t> listed_, listed_begin_;
    std::vector<std::uint64_t> prefixes_, keys_;  ///< of one item
};

}  // namespace quern::contamination_detail
