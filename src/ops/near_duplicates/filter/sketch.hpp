// SPDX-License-Identifier: Apache-2.0
// A summary of a text, so that it need not be read again: how often each unit and each pair of neighbours occurs,
// counted in a few buckets of one byte. From two sketches follows a lower bound of the edit distance.
//
// Let f count the q-grams of a text by buckets. An edit removes at most q of them and adds at most q, so for d edits
// sum(max(f_a - f_b, 0)) <= q d and sum(max(f_b - f_a, 0)) <= q d. The two sums differ by g, the difference of the
// numbers of q-grams; so, with the norm |f_a - f_b| of all differences together,
//     |f_a - f_b| + g <= 2 q d.
// Counts that stop at 255 are only nearer to each other: the bound holds for them too. So no pair within d edits fails
// it (q-gram distance: Ukkonen 1992).
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "device/budget_share.hpp"
#include "device/cpu/cpu_place.hpp"
#include "quern/ops/text_sketches.hpp"

namespace quern::near_duplicates_detail {

inline constexpr std::size_t unit_buckets = 64;    ///< q = 1
inline constexpr std::size_t pair_buckets = 1024;  ///< q = 2

/// The bucket of a unit: characters that are frequent in prose and in programs have their own.
inline constexpr auto bucket_of_ascii = [] {
    std::array<std::uint8_t, 128> bucket{};
    for (unsigned c = 0; c < 128; ++c) bucket[c] = static_cast<std::uint8_t>(61 + c % 3);
    for (unsigned c = 'A'; c <= 'Z'; ++c) bucket[c] = static_cast<std::uint8_t>(55 + c % 6);
    for (unsigned c = 'a'; c <= 'z'; ++c) bucket[c] = static_cast<std::uint8_t>(c - 'a');
    for (unsigned c = '0'; c <= '9'; ++c)
        bucket[c] = static_cast<std::uint8_t>(c < '3' ? 28 + c - '0' : 31 + c % 2);
    constexpr char alone[] = " \n()[]{};,.=+-*/<>\"':_#\t";
    std::uint8_t next = 26;
    for (const char* c = alone; *c != 0; ++c) {
        if (next == 28) next = 33;  // after the digits
        bucket[static_cast<unsigned char>(*c)] = next++;
    }
    return bucket;
}();
static_assert(bucket_of_ascii['\t'] == 54 && bucket_of_ascii[' '] == 26);

template <class Unit>
constexpr unsigned unit_bucket(Unit unit) {
    if (unit < 128) return bucket_of_ascii[unit];
    return (static_cast<std::uint32_t>(unit) * 2654435769u) >> 26;
}
template <class Unit>
constexpr unsigned pair_bucket(Unit first, Unit second) {
    return ((static_cast<std::uint32_t>(first) << 8 ^ first >> 8 ^ static_cast<std::uint32_t>(second) << 16 ^
             second) *
            2654435769u) >>
           22;
}

/// Writes unit_buckets bytes. Cost: O(units).
template <class Unit>
void sketch_units(std::span<const Unit> text, std::uint8_t* to);
/// Writes pair_buckets bytes. Cost: O(units).
template <class Unit>
void sketch_pairs(std::span<const Unit> text, std::uint8_t* to);

/// The number of q-grams of a text of this length.
constexpr std::uint64_t grams_in(std::uint64_t length, unsigned q) {
    return length < q ? 0 : length - q + 1;
}

/// The largest norm of differences that d edits allow; negative: none is allowed. `grams_apart` is g above.
constexpr std::int64_t largest_norm(unsigned q, std::uint32_t d, std::uint64_t grams_apart) {
    return std::int64_t{2} * q * d - static_cast<std::int64_t>(grams_apart);
}

/// The smallest distance that a norm of the counts of q-grams allows.
constexpr std::uint32_t min_distance(std::uint32_t norm, unsigned q, std::uint64_t length,
                                     std::uint64_t other_length) {
    const std::uint64_t a = grams_in(length, q), b = grams_in(other_length, q);
    return static_cast<std::uint32_t>((norm + (a < b ? b - a : a - b) + 2 * q - 1) / (2 * q));
}

/// norms[i] = the norm of the differences of `row` and the i-th of `others`, rows of unit_buckets bytes.
void unit_norms(const std::uint8_t* row, const std::uint8_t* others, std::size_t count, std::uint32_t* norms);
/// The norm of two rows of pair_buckets bytes.
std::uint32_t pair_norm(const std::uint8_t* a, const std::uint8_t* b);

// The sketches of all texts of a call: the given ones, and those made here for the other texts.

static_assert(sizeof(text_sketch::counts) == unit_buckets && sizeof(text_sketch) == 80);

class sketch_list {
  public:
    /// Known sketches that do not cover the old texts are ignored: then all are made. Throws usage_error for more sketches
    /// than texts, for impossible lengths, and for old texts whose equals are not known; out_of_memory. Memory, counted at
    /// `place`: 80 bytes for each text without a sketch.
    sketch_list(cpu_place& place, const text_list& texts, const text_sketches& known, edit_unit unit,
                std::uint32_t first_new);
    sketch_list(const sketch_list&) = delete;  // its ranges point into it
    sketch_list& operator=(const sketch_list&) = delete;

    std::uint32_t size() const { return begins_.back(); }
    std::uint32_t first_new() const { return first_new_; }
    const text_sketch& operator[](std::uint32_t text) const {
        // Random accesses go mostly to new texts, which come last.
        std::size_t chunk = chunks_.size() - 1;
        if (text < begins_[chunk]) {
            chunk = static_cast<std::size_t>(std::upper_bound(begins_.begin(), begins_.end(), text) -
                                             begins_.begin() - 1);
        }
        return chunks_[chunk][text - begins_[chunk]];
    }
    /// Call it before reading the bytes of a text.
    void before_reading(std::uint32_t text) const {
        if (text < first_new_ && were_known_ && known_.before_reading) known_.before_reading(text);
    }
    /// Reads both texts if their hashes are equal.
    bool are_equal(std::uint32_t a, std::uint32_t b) const;
    std::string_view read(std::uint32_t text) const {
        before_reading(text);
        return texts_[text];
    }

  private:
    void check_known(cpu_place& place) const;
    void link_old_texts(cpu_place& place);

    text_list texts_;
    const text_sketches& known_;
    std::uint32_t first_new_;
    bool were_known_;
    std::optional<budget_share> memory_;  ///< counts `made_`
    std::vector<text_sketch> made_;
    std::vector<std::span<const text_sketch>> chunks_;
    std::vector<std::uint32_t> begins_{0};  ///< of each range, and the end
};

}  // namespace quern::near_duplicates_detail
