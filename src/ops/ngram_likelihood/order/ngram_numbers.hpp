// SPDX-License-Identifier: Apache-2.0
// All words of an n-gram and its position as one number of a few 64-bit parts. Sorting such numbers needs nothing else: no word is
// looked up in the text, and equal n-grams are in the order of their positions.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "device/cpu/parallel.hpp"
#include "quern/base/context.hpp"

namespace quern::ngram_detail {

/// The first part is the highest.
template <unsigned Parts>
struct ngram_number {
    std::array<std::uint64_t, Parts> parts;

    void append(unsigned bits, std::uint64_t value) {
        for (unsigned p = 0; p + 1 < Parts; ++p) parts[p] = parts[p] << bits | parts[p + 1] >> (64 - bits);
        parts[Parts - 1] = parts[Parts - 1] << bits | value;
    }
    /// Of at most 16 bits.
    std::uint32_t digit(unsigned shift, std::uint32_t mask) const {
        const unsigned part = Parts - 1 - shift / 64, by = shift % 64;
        std::uint64_t value = parts[part] >> by;
        if (by > 48 && part != 0) value |= parts[part - 1] << (64 - by);
        return static_cast<std::uint32_t>(value) & mask;
    }
    bool operator<(const ngram_number& other) const {
        for (unsigned p = 0; p + 1 < Parts; ++p)
            if (parts[p] != other.parts[p]) return parts[p] < other.parts[p];
        return parts[Parts - 1] < other.parts[Parts - 1];
    }
};

/// The fields of numbers: `order` words, each id + 1 or 0 past the end of the document, and the position.
class number_fields {
  public:
    static constexpr unsigned max_parts = 4;

    number_fields(std::uint32_t vocabulary, unsigned order, std::uint64_t words)
        : bits_(static_cast<unsigned>(std::bit_width(vocabulary + std::uint64_t{1}))),
          position_bits_(static_cast<unsigned>(std::bit_width(words | 1))),
          order_(order) {
        for (unsigned bit = 0; bit < words_before_.size(); ++bit)
            words_before_[bit] = static_cast<std::uint8_t>(std::min(order, bit / bits_));
    }

    unsigned parts() const { return (order_ * bits_ + position_bits_ + 63) / 64; }

    /// `words`: those from the position on, of which `left` are up to the end of the document, at most the order.
    template <unsigned Parts>
    ngram_number<Parts> number(const std::uint32_t* words, std::uint64_t left, std::uint64_t position) const {
        ngram_number<Parts> made{};
        for (std::uint64_t k = 0; k < left; ++k) made.append(bits_, std::uint64_t{words[k]} + 1);
        for (std::uint64_t k = left; k < order_; ++k) made.append(bits_, 0);
        made.append(position_bits_, position);
        return made;
    }
    template <unsigned Parts>
    std::uint64_t position(const ngram_number<Parts>& of) const {
        return of.parts[Parts - 1] & ((std::uint64_t{1} << position_bits_) - 1);
    }
    /// Words before the end of the document, at most the order.
    template <unsigned Parts>
    unsigned words_left(const ngram_number<Parts>& of) const {
        std::uint64_t low = of.parts[Parts - 1] >> position_bits_ << position_bits_;
        for (unsigned p = Parts; p-- > 0;) {
            if (low != 0) {
                const auto zeros = static_cast<unsigned>(std::countr_zero(low)) + (Parts - 1 - p) * 64;
                return order_ - words_before_[zeros - position_bits_];
            }
            if (p != 0) low = of.parts[p - 1];
        }
        return 0;
    }
    /// How many leading words are equal; the end of the document does not count.
    template <unsigned Parts>
    unsigned shared(const ngram_number<Parts>& a, const ngram_number<Parts>& b) const {
        const unsigned unused = Parts * 64 - order_ * bits_ - position_bits_;
        for (unsigned p = 0; p < Parts; ++p) {
            const std::uint64_t differing = a.parts[p] ^ b.parts[p];
            if (differing == 0) continue;
            const unsigned equal = static_cast<unsigned>(std::countl_zero(differing)) + p * 64 - unused;
            return std::min<unsigned>(words_before_[equal], words_left(b));
        }
        return words_left(b);
    }

  private:
    unsigned bits_, position_bits_, order_;
    std::array<std::uint8_t, max_parts * 64 + 1> words_before_{};  ///< whole words among so many bits
};

/// Splits numbers in place by the first bits that differ, eight at most; of_part(begin, end) for each part of at least two, in order.
template <unsigned Parts, class Of_part>
void split_numbers(std::span<ngram_number<Parts>> numbers, const Of_part& of_part) {
    using number = ngram_number<Parts>;
    number differing{};
    for (const number& n : numbers)
        for (unsigned p = 0; p < Parts; ++p) differing.parts[p] |= n.parts[p] ^ numbers.front().parts[p];
    unsigned top = 0;
    for (unsigned p = 0; p < Parts && top == 0; ++p)
        if (differing.parts[p] != 0)
            top = static_cast<unsigned>(std::bit_width(differing.parts[p])) + (Parts - 1 - p) * 64;
    if (top == 0) return;
    constexpr unsigned max_bits = 8;
    const unsigned bits =
        std::min({max_bits, static_cast<unsigned>(std::bit_width(numbers.size())) - 3, top});
    const unsigned shift = top - bits;
    const std::uint32_t digits = std::uint32_t{1} << bits, mask = digits - 1;
    std::uint32_t next[1U << max_bits], ends[1U << max_bits];
    std::fill_n(ends, digits, 0);
    for (const number& n : numbers) ++ends[n.digit(shift, mask)];
    std::uint32_t sum = 0;
    for (std::uint32_t d = 0; d < digits; ++d) {
        next[d] = sum;
        ends[d] = sum += ends[d];
    }
    // Each number goes where its digit's next one belongs, whose own place is found next.
    for (std::uint32_t d = 0; d < digits; ++d) {
        while (next[d] != ends[d]) {
            number moved = numbers[next[d]];
            for (std::uint32_t to = moved.digit(shift, mask); to != d; to = moved.digit(shift, mask))
                std::swap(moved, numbers[next[to]++]);
            numbers[next[d]++] = moved;
        }
    }
    std::uint32_t begin = 0;
    for (std::uint32_t d = 0; d < digits; ++d) {
        if (ends[d] - begin > 1) of_part(begin, ends[d]);
        begin = ends[d];
    }
}

/// Sorts different numbers in place. One thread.
template <unsigned Parts>
void sort_numbers(std::span<ngram_number<Parts>> numbers, const context& ctx) {
    using number = ngram_number<Parts>;
    constexpr std::size_t few = 24, many = std::size_t{1} << 16;
    if (numbers.size() <= few) {
        for (std::size_t i = 1; i < numbers.size(); ++i) {
            const number moved = numbers[i];
            std::size_t to = i;
            for (; to != 0 && moved < numbers[to - 1]; --to) numbers[to] = numbers[to - 1];
            numbers[to] = moved;
        }
        return;
    }
    if (numbers.size() >= many) ctx.check_stop();
    split_numbers(numbers, [&](std::uint32_t begin, std::uint32_t end) {
        sort_numbers(numbers.subspan(begin, end - begin), ctx);
    });
}

/// Sorts each of these ranges of different numbers, by all threads: one splits a range of more than `large`, and the parts go to any.
template <unsigned Parts>
void sort_ranges(cpu_place& place, std::span<ngram_number<Parts>> numbers, std::vector<item_range> ranges,
                 std::size_t large) {
    std::vector<item_range> small;
    while (!ranges.empty()) {
        std::vector<std::vector<item_range>> parts(ranges.size());
        for_each_piece(place, ranges.size(), [&](std::size_t r) {
            place.ctx().check_stop();
            const auto [begin, end] = ranges[r];
            if (end - begin <= large) {
                parts[r].push_back(ranges[r]);
                return;
            }
            split_numbers(numbers.subspan(begin, end - begin),
                          [&, at = begin](std::uint32_t from, std::uint32_t to) {
                              parts[r].push_back({at + from, at + to});
                          });
        });
        ranges.clear();
        for (const std::vector<item_range>& of_range : parts)
            for (const item_range& part : of_range)
                (part.end - part.begin > large ? ranges : small).push_back(part);
    }
    for_each_piece(place, small.size(), [&](std::size_t r) {
        sort_numbers(numbers.subspan(small[r].begin, small[r].end - small[r].begin), place.ctx());
    });
}

}  // namespace quern::ngram_detail
