// SPDX-License-Identifier: Apache-2.0
// The n-grams of all items, to be found in documents: filters of bits that stay in the cache, a hash table of distinct
// n-grams, and for each n-gram the items to consider.
//
// Every window of n words contains windows of k words that begin at n - k + 1 successive places, one of which is a
// multiple of n - k + 1. So only these places of a document are looked up, in a filter of all windows of k words of the
// items, and only where it lets one through the windows of n words around it.
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

/// Items as sequences of word numbers. Must outlive the index made from it.
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

/// A set of keys with false positives, but no false negatives.
class bit_filter {
  public:
    static std::uint64_t bytes_for(std::uint64_t keys) { return 8 * words_for(keys); }
    explicit bit_filter(std::uint64_t keys = 0) : words_(words_for(keys)) {}

    void add(std::uint64_t key) { words_[place_of(key, words_.size())] |= bits_of(key); }
    bool may_contain(std::uint64_t key) const {
        const std::uint64_t bits = bits_of(key);
        return (words_[place_of(key, words_.size())] & bits) == bits;
    }
    std::uint64_t memory_bytes() const { return 8 * words_.capacity(); }

    /// A slot in a table of this size, by the upper bits of a key.
    static std::size_t place_of(std::uint64_t key, std::size_t size) {
        return static_cast<std::size_t>(static_cast<unsigned __int128>(key) * size >> 64);
    }

  private:
    static std::uint64_t words_for(std::uint64_t keys) { return keys / 4 + 1; }
    static std::uint64_t bits_of(std::uint64_t key) {
        return std::uint64_t{1} << (key & 63) | std::uint64_t{1} << (key >> 6 & 63) |
               std::uint64_t{1} << (key >> 12 & 63);
    }
    std::vector<std::uint64_t> words_;
};

/// How to find windows of some lengths: an anchor is looked up at every `stride` words; the windows to compare begin less
/// than `stride` words before it.
struct window_search {
    window_kind anchor;
    std::uint32_t stride = 1;
    std::vector<window_kind> windows;  ///< shortest first
    bit_filter anchors, whole;         ///< of the items' anchors and windows
};

class item_index {
  public:
    static constexpr std::uint32_t none = 0xffffffff;

    /// The maximum memory of an index of these items, in bytes.
    static std::uint64_t memory_needed(const item_words& items, const contamination_options& options);

    /// Throws usage_error (an option out of range), out_of_memory beyond 2^32 - 2 words, interrupted. Cost: one look-up
    /// for each position.
    item_index(const item_words& items, const contamination_options& options, const context& ctx);

    unsigned ngram() const { return ngram_; }
    std::uint32_t ngrams() const { return static_cast<std::uint32_t>(start_.size()); }  ///< distinct ones
    std::uint64_t memory_bytes() const;

    std::span<const window_search> searches() const { return searches_; }
    /// The n-gram with this key and length for which is_equal(its words) is true, or none.
    template <class IsEqual>
    std::uint32_t find(std::uint64_t key, std::uint32_t length, const IsEqual& is_equal) const {
        for (std::size_t at = bit_filter::place_of(key, slots_.size());;
             at = at + 1 == slots_.size() ? 0 : at + 1) {
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

    std::span<const std::uint32_t> words_of(std::uint32_t ngram) const {
        return items_.words.subspan(start_[ngram], length_[ngram]);
    }
    void choose_searches();
    window_search& search_for(std::uint64_t words);
    void add_anchors(window_search& search, std::uint64_t words);
    void add_item(std::uint32_t item);
    void list_items(const context& ctx);

    item_words items_;
    unsigned ngram_;
    decimal overlap_;
    std::vector<window_search> searches_;
    std::vector<slot> slots_;
    std::vector<std::uint32_t> start_;   ///< of each n-gram, in items_.words
    std::vector<std::uint16_t> length_;  ///< of each n-gram
    std::vector<std::uint32_t> at_, at_begin_;
    std::vector<std::uint32_t> listed_, listed_begin_;
    std::vector<std::uint64_t> prefixes_, keys_;  ///< of one item
};

}  // namespace quern::contamination_detail
