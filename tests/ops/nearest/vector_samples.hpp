// SPDX-License-Identifier: Apache-2.0
// Vectors for tests: rows of any type, seeded, hard on purpose, with junk between and after them.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "quern/base/vectors.hpp"
#include "quern/ops/nearest.hpp"

namespace quern {

enum class vector_sample {
    wide,  ///< floats of many magnitudes and both signs, subnormals and both zeros too; integers up to their limits
    plain,  ///< floats in [−1, 1)
    ties,   ///< −1, 0 and 1 (u8: 0, 1, 2): many equal distances
};

/// Owns rows; view() is valid while it lives and does not move.
struct sample_vectors {
    std::vector<std::byte> memory;  // nothing past the last row: a checker sees every overrun
    vector_type type = vector_type::f32;
    std::uint32_t rows = 0, dimensions = 0;
    std::uint64_t stride = 0;

    std::byte* data() { return memory.data(); }
    vectors_view view() const {
        return {.type = type, .rows = rows, .dimensions = dimensions, .stride = stride, .values = memory};
    }
};

inline std::uint16_t half_of(float value) {  // truncated, not rounded: good enough for tests
    const std::uint32_t bits = std::bit_cast<std::uint32_t>(value), sign = bits >> 16 & 0x8000u;
    const int exponent = static_cast<int>(bits >> 23 & 255) - 112;
    if (exponent >= 31) return static_cast<std::uint16_t>(sign | 0x7bffu);  // the greatest that is finite
    if (exponent <= 0) {
        const auto steps = static_cast<std::uint32_t>(std::ldexp(std::fabs(value), 24));
        return static_cast<std::uint16_t>(sign | steps);
    }
    return static_cast<std::uint16_t>(sign | static_cast<std::uint32_t>(exponent) << 10 |
                                      (bits >> 13 & 1023u));
}

inline float sample_float(vector_sample kind, std::mt19937_64& random) {
    const auto plain = static_cast<float>(random() >> 40) * 0x1p-23f - 1.0f;
    if (kind == vector_sample::plain) return plain;
    if (kind == vector_sample::ties) return static_cast<float>(random() % 3) - 1.0f;
    const auto choice = random() % 16;
    if (choice == 0) return 0.0f;
    if (choice == 1) return -0.0f;
    // Squares of 128 and more of these do not overflow.
    return std::ldexp(plain, choice == 2 ? -140 : static_cast<int>(random() % 64) - 32);
}

/// Numbers that are not floats; wide: some outside the range of float.
inline double sample_double(vector_sample kind, std::mt19937_64& random) {
    const auto coarse = double{sample_float(kind, random)};
    if (kind == vector_sample::ties) return coarse;
    const double fine = coarse * (1 + static_cast<double>(random() >> 40) * 0x1p-50);
    return kind == vector_sample::plain ? fine : std::ldexp(fine, static_cast<int>(random() % 700) - 350);
}

/// `slack` bytes, filled with junk, follow each row; rounded up to the size of a component.
inline sample_vectors make_vectors(vector_type type, std::uint32_t rows, std::uint32_t dimensions,
                                   vector_sample kind, std::uint64_t seed, std::uint64_t slack = 0) {
    const std::uint64_t unit = std::max<std::uint64_t>(bytes_of_row(type, 8) / 8, 1);
    sample_vectors made{.memory = {},
                        .type = type,
                        .rows = rows,
                        .dimensions = dimensions,
                        .stride = bytes_of_row(type, dimensions) + (slack + unit - 1) / unit * unit};
    made.memory.assign(rows * made.stride, std::byte{0xff});  // a NaN, of every type
    std::mt19937_64 random(seed);
    for (std::uint32_t i = 0; i < rows; ++i) {
        std::byte* const row = made.data() + i * made.stride;
        if (type == vector_type::bits) std::memset(row, 0, bytes_of_row(type, dimensions));
        for (std::uint32_t j = 0; j < dimensions; ++j) {
            if (type == vector_type::f64) {
                const double value = sample_double(kind, random);
                std::memcpy(row + 8 * std::size_t{j}, &value, 8);
            } else if (type == vector_type::f32) {
                const float value = sample_float(kind, random);
                std::memcpy(row + 4 * std::size_t{j}, &value, 4);
            } else if (type == vector_type::f16 || type == vector_type::bf16) {
                const float value = sample_float(kind, random);
                const std::uint16_t stored =
                    type == vector_type::f16
                        ? half_of(value)
                        : static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(value) >> 16);
                std::memcpy(row + 2 * std::size_t{j}, &stored, 2);
            } else if (type == vector_type::bits) {
                if (random() % 3 == 0) row[j / 8] |= static_cast<std::byte>(1u << (j % 8));
            } else {
                const auto bits = static_cast<std::uint16_t>(random());
                // All in one are extreme: sums of the greatest parts.
                auto stored = random() % 4 == 0
                                  ? static_cast<std::uint16_t>(random() % 2 == 0 ? 0x7fff : 0x8000)
                                  : bits;
                if (type != vector_type::i16 && stored != bits)
                    stored = static_cast<std::uint16_t>(stored >> 8);
                if (kind == vector_sample::plain) stored = bits % 100;
                if (kind == vector_sample::ties)
                    stored = static_cast<std::uint16_t>(bits % 3 - (type == vector_type::u8 ? 0 : 1));
                std::memcpy(row + unit * j, &stored, unit);
            }
        }
    }
    return made;
}

inline constexpr vector_type every_type[] = {vector_type::f32,  vector_type::f16, vector_type::bf16,
                                             vector_type::i16,  vector_type::i8,  vector_type::u8,
                                             vector_type::bits, vector_type::f64};

inline std::vector<vector_metric> metrics_for(vector_type type) {
    using enum vector_metric;
    if (type == vector_type::bits) return {hamming};
    std::vector<vector_metric> all{l2, sql2, ip, cosine, l1, linf};
    if (type == vector_type::u8) all.push_back(hamming);
    return all;
}

inline void expect_equal(const rankings& found, const rankings& expected, const std::string& what) {
    ASSERT_EQ(found.offsets, expected.offsets) << what;
    for (std::size_t j = 0; j < expected.ids.size(); ++j) {
        ASSERT_EQ(found.ids[j], expected.ids[j]) << what << ", place " << j << " of all";
        ASSERT_EQ(found.distances[j], expected.distances[j]) << what << ", place " << j << " of all";
    }
}

/// The first k of complete rankings.
inline rankings first_of(const rankings& complete, std::uint64_t k) {
    rankings first{.offsets = {0}, .ids = {}, .distances = {}};
    for (std::size_t q = 0; q + 1 < complete.offsets.size(); ++q) {
        const std::uint64_t begin = complete.offsets[q],
                            end = begin + std::min(k, complete.offsets[q + 1] - begin);
        for (std::uint64_t j = begin; j < end; ++j) {
            first.ids.push_back(complete.ids[j]);
            first.distances.push_back(complete.distances[j]);
        }
        first.offsets.push_back(first.ids.size());
    }
    return first;
}

}  // namespace quern
