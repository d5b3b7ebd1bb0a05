// SPDX-License-Identifier: Apache-2.0
#include "ops/word_similarity/vectors/text_vectors.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "device/cpu/parallel.hpp"

namespace quern::word_similarity_detail {
namespace {

/// The largest integer whose square is at most n < 2^62.
std::uint64_t integer_root(std::uint64_t n) {
    auto root = static_cast<std::uint64_t>(std::sqrt(static_cast<double>(n)));
    while (root * root > n) --root;
    while ((root + 1) * (root + 1) <= n) ++root;
    return root;
}

std::uint64_t magnitude(std::int64_t value) {
    return value < 0 ? 0 - static_cast<std::uint64_t>(value) : static_cast<std::uint64_t>(value);
}

}  // namespace

text_vectors::text_vectors(cpu_place& place, std::span<const float> values,
                           std::span<const double> singular_values, std::span<const double> weights)
    : dimensions_(static_cast<std::uint32_t>(singular_values.size())), parts_(values.size()) {
    constexpr double parts_of_one = 0x1p24;  // 64 times it fits 31 bits, and 2^32 times that 63 bits
    const std::size_t pieces = pieces_for(place, weights.size(), 1024);
    for_each_piece(place, pieces, [&](std::size_t p) {
        std::vector<double> row(dimensions_);
        const item_range mine = piece_of(weights.size(), pieces, p);
        for (std::size_t word = mine.begin; word < mine.end; ++word) {
            double squares = 0;
            for (std::size_t j = 0; j < dimensions_; ++j) {
                row[j] = singular_values[j] > 0
                             ? static_cast<double>(values[word * dimensions_ + j]) / singular_values[j]
                             : 0;
                squares += row[j] * row[j];
            }
            if (!(squares > 0)) continue;
            const double length = std::sqrt(squares);
            for (std::size_t j = 0; j < dimensions_; ++j) {
                parts_[word * dimensions_ + j] =
                    static_cast<std::int32_t>(std::llrint(row[j] / length * weights[word] * parts_of_one));
            }
        }
    });
}

void text_vectors::direction(std::span<const counted_word> words, std::span<std::int16_t> row) const {
    thread_local std::vector<std::int64_t> sums;
    sums.assign(dimensions_, 0);
    for (const auto& [word, count] : words) {
        const std::int32_t* const parts = parts_.data() + std::size_t{word} * dimensions_;
        const auto times = static_cast<std::int64_t>(count);
        for (std::size_t j = 0; j < dimensions_; ++j) sums[j] += times * parts[j];
    }
    std::uint64_t max = 0;
    for (const std::int64_t sum : sums) max = std::max(max, magnitude(sum));
    std::ranges::fill(row, std::int16_t{0});
    if (max == 0) return;

    // With 25 digits in the largest, the squares of 4,096 components add up to less than 2^62.
    constexpr int digits = 25;
    const int shift = digits - static_cast<int>(std::bit_width(max));
    std::uint64_t squares = 0;
    for (std::int64_t& sum : sums) {
        const std::uint64_t size = magnitude(sum);
        const std::uint64_t scaled = shift >= 0 ? size << shift : size >> -shift;
        squares += scaled * scaled;
        sum = sum < 0 ? -static_cast<std::int64_t>(scaled) : static_cast<std::int64_t>(scaled);
    }
    const std::uint64_t length = integer_root(squares);
    for (std::size_t j = 0; j < dimensions_; ++j) {
        const std::uint64_t nearest = (2 * magnitude(sums[j]) * unit + length) / (2 * length);
        row[j] = static_cast<std::int16_t>(sums[j] < 0 ? -static_cast<std::int64_t>(nearest)
                                                       : static_cast<std::int64_t>(nearest));
    }
}

}  // namespace quern::word_similarity_detail
