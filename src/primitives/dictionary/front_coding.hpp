// SPDX-License-Identifier: Apache-2.0
// A sorted word list in blocks of sixteen, as bytes: the first word of a block in full, each other one as the number of
// bytes it shares with the previous word and the bytes that follow (front coding). It keeps byte order, so ids are ranks.
// Nothing is decoded on opening, and a look-up reads one block. This header has the code shared by all places, for any
// compiler: the iteration that finds a word in its block.
//
//   first word: number n, n bytes
//   others:     byte (shared << 4 | added − 1); a half of 15 is continued by a number; the added bytes
//   "number":   seven bits per byte, low ones first, the high bit set on all but the last
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace quern::primitives::front_coding {

inline constexpr std::uint32_t words_per_block = 16;
inline constexpr std::uint32_t half_limit = 15;

/// The number of words of a list or a block that are less than the searched word, and whether the next one equals it.
struct bound {
    std::uint32_t rank;
    bool equal;
};

/// The first eight bytes as a number that compares like the bytes. A short word is padded with zeros, so that a word and
/// the same word followed by NUL bytes share a key.
constexpr std::uint64_t key_of(const std::uint8_t* word, std::uint64_t length) {
    std::uint64_t key = 0;
    for (unsigned i = 0; i < 8; ++i) key = key << 8 | (i < length ? word[i] : 0U);
    return key;
}

/// Reads a number and moves `at` past it. False if the bytes end first, or do not encode a number of 63 bits.
constexpr bool read_number(const std::uint8_t*& at, const std::uint8_t* end, std::uint64_t& out) {
    out = 0;
    for (unsigned shift = 0; at != end && shift < 63; shift += 7) {
        const std::uint8_t byte = *at++;
        out |= static_cast<std::uint64_t>(byte & 0x7FU) << shift;
        if (byte < 0x80) return true;
    }
    return false;
}

/// Iterates over the words of one block. Every step is checked against the block's end and the previous word, so that
/// damaged bytes end the iteration and are never followed.
class block_walk {
  public:
    constexpr block_walk(const std::uint8_t* at, const std::uint8_t* end) : at_(at), end_(end) {}

    /// Steps to the next word: shared() bytes of the previous one, then added() bytes at letters(). False at the end of the
    /// block and at invalid bytes.
    constexpr bool next() {
        if (at_ == end_) return false;
        std::uint64_t shared = 0, added = 0;
        if (first_) {
            first_ = false;
            if (!read_number(at_, end_, added)) return false;
        } else {
            const std::uint8_t halves = *at_++;
            shared = halves >> 4U;
            added = (halves & 15U) + 1U;
            if (shared == half_limit || added > half_limit) {
                if (!read_long(shared, added)) return false;
            }
            if (shared > length_) return false;
        }
        if (added > static_cast<std::uint64_t>(end_ - at_)) return false;
        letters_ = at_;
        at_ += added;
        shared_ = shared;
        length_ = shared + added;
        return true;
    }

    constexpr std::uint64_t shared() const { return shared_; }
    constexpr std::uint64_t added() const { return length_ - shared_; }
    constexpr const std::uint8_t* letters() const { return letters_; }

  private:
    constexpr bool read_long(std::uint64_t& shared, std::uint64_t& added) {
        std::uint64_t more = 0;
        if (shared == half_limit) {
            if (!read_number(at_, end_, more) || more > length_) return false;
            shared += more;
        }
        if (added > half_limit) {
            if (!read_number(at_, end_, more) || more > static_cast<std::uint64_t>(end_ - at_)) return false;
            added += more;
        }
        return true;
    }

    const std::uint8_t* at_;
    const std::uint8_t* end_;
    const std::uint8_t* letters_ = nullptr;
    std::uint64_t shared_ = 0;
    std::uint64_t length_ = 0;
    bool first_ = true;
};

/// Finds a word in the block [at, end) of `count` words. Only the number of bytes in common with the current word is kept:
/// as long as a word shares more than that with its predecessor, it compares like the predecessor, and none of its bytes is
/// read. If damaged bytes end the iteration, the word counts as greater than all.
constexpr bound lower_bound(const std::uint8_t* at, const std::uint8_t* end, std::uint32_t count,
                            const std::uint8_t* word, std::uint64_t length) {
    block_walk walk(at, end);
    std::uint64_t same = 0;
    for (std::uint32_t rank = 0; rank < count && walk.next(); ++rank) {
        if (walk.shared() > same) continue;
        if (walk.shared() < same) return {rank, false};
        const std::uint64_t added = walk.added();
        std::uint64_t more = 0;
        while (more < added && same < length && walk.letters()[more] == word[same]) {
            ++more;
            ++same;
        }
        if (same == length) return {rank, more == added};
        if (more < added && walk.letters()[more] > word[same]) return {rank, false};
    }
    return {count, false};
}

/// Whether the first word of a block is at most `word`; false for invalid bytes.
constexpr bool begins_at_most(const std::uint8_t* at, const std::uint8_t* end, const std::uint8_t* word,
                              std::uint64_t length) {
    block_walk walk(at, end);
    if (!walk.next()) return false;
    const std::uint64_t shorter = walk.added() < length ? walk.added() : length;
    for (std::uint64_t i = 0; i < shorter; ++i) {
        if (walk.letters()[i] != word[i]) return walk.letters()[i] < word[i];
    }
    return walk.added() <= length;
}

/// The position of a block's bytes.
struct block_bytes {
    const std::uint8_t* begin;
    const std::uint8_t* end;
};

/// The block of a list that a word belongs to, if any. keys(i) is the key of the first word of block i, blocks(i) its
/// bytes. `before`: the number of blocks with a key less than the word's.
template <class Keys, class Blocks>
constexpr std::uint64_t block_of(const Keys& keys, const Blocks& blocks, std::uint64_t block_count,
                                 std::uint64_t before, std::uint64_t key, const std::uint8_t* word,
                                 std::uint64_t length) {
    // Among blocks with equal keys the words themselves decide: bisects them.
    std::uint64_t last = before;
    if (before < block_count && keys(before) == key) {
        for (std::uint64_t count = block_count - before; count > 0;) {
            const std::uint64_t half = count / 2, middle = last + half;
            bool at_most = keys(middle) == key;
            if (at_most) {
                const auto head = blocks(middle);
                at_most = begins_at_most(head.begin, head.end, word, length);
            }
            last = at_most ? middle + 1 : last;
            count = at_most ? count - half - 1 : half;
        }
    }
    return last == 0 ? 0 : last - 1;
}

/// The number of blocks of a list of `size` words, and the number of words in one of them.
constexpr std::uint64_t blocks_for(std::uint32_t size) {
    return (std::uint64_t{size} + words_per_block - 1) / words_per_block;
}
constexpr std::uint32_t words_in(std::uint64_t block, std::uint32_t size) {
    const std::uint64_t left = size - block * words_per_block;
    return left < words_per_block ? static_cast<std::uint32_t>(left) : words_per_block;
}

/// Converts a bound within a block to its rank in the list.
constexpr bound in_list(bound within, std::uint64_t block) {
    return {static_cast<std::uint32_t>(block * words_per_block) + within.rank, within.equal};
}

}  // namespace quern::primitives::front_coding

// Writes the form that devices use for look-ups: the coded words, with a key and an offset for each block.

namespace quern::primitives {

/// The arrays of a word_list: offsets of 32 bits if these suffice, otherwise wide ones; the others are empty.
struct front_coded {
    std::vector<std::uint64_t> keys, wide_offsets;
    std::vector<std::uint32_t> offsets;
    std::vector<std::uint8_t> blocks;
};

class front_coder {
  public:
    void append(std::string_view word);  ///< strictly ascending
    front_coded finish();                ///< the coder must not be used afterwards

  private:
    front_coded made_;
    std::string previous_;
    std::uint64_t size_ = 0;
};

}  // namespace quern::primitives
