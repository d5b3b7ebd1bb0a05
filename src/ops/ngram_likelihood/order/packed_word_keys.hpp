// SPDX-License-Identifier: Apache-2.0
// Several words as one number that compares like them. A plain header, which nvcc reads too.
#pragma once

#include <bit>
#include <cstdint>

namespace quern::ngram_detail {

/// `words` fields of `bits` bits, the first word in the highest: id + 1, or 0 past the end of the document.
struct word_packing {
    unsigned bits, words;

    /// As many words as fit, up to the length of an n-gram.
    constexpr word_packing(std::uint32_t vocabulary, unsigned order)
        : bits(static_cast<unsigned>(std::bit_width(vocabulary + 1u))),
          words(64 / bits < order ? 64 / bits : order) {}

    constexpr unsigned key_bits() const { return bits * words; }
    /// The key of the end of a document.
    static constexpr std::uint64_t end = 0;
    /// The key of a position, from its word and the key of the next position (`end` at the end of the document).
    constexpr std::uint64_t before(std::uint32_t word, std::uint64_t key_after) const {
        return (std::uint64_t{word} + 1) << (bits * (words - 1)) | (words == 1 ? 0 : key_after >> bits);
    }
    /// The number of words of a key before the end of its document.
    constexpr unsigned words_in(std::uint64_t key) const {
        return key == 0 ? 0 : words - static_cast<unsigned>(std::countr_zero(key)) / bits;
    }
    /// The number of equal leading words of two keys; the end of a document does not count.
    constexpr unsigned shared(std::uint64_t a, std::uint64_t b) const {
        const std::uint64_t differing = a ^ b;
        if (differing == 0) return words_in(a);
        return (static_cast<unsigned>(std::countl_zero(differing)) - (64 - key_bits())) / bits;
    }
    /// The first `count` words of a key.
    constexpr std::uint64_t first(std::uint64_t key, unsigned count) const {
        return count >= words ? key : key >> (bits * (words - count)) << (bits * (words - count));
    }
};

}  // namespace quern::ngram_detail
