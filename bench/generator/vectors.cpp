// SPDX-License-Identifier: Apache-2.0
#include "generator/vectors.hpp"

#include <oneapi/tbb/blocked_range.h>
#include <oneapi/tbb/parallel_for.h>

#include <algorithm>
#include <cmath>
#include <span>

#include "generator/random_numbers.hpp"

namespace quern::generator {
namespace {

constexpr std::uint64_t clusters = 1024, groups = 32;
constexpr std::uint64_t of_sets = 0x5e75, of_clusters = 0xc1u,
                        of_groups = 0x67u;  // seeds different from the rows'

/// In [0, 1), a multiple of 2^-24: exact as a float.
float unit(random_numbers& chance) {
    return static_cast<float>(chance.next() >> 40) * 0x1p-24f;
}

/// Nearly normal, mean 0 and deviation 1: the sum of eight uniform numbers of 16 bits.
float bell(random_numbers& chance) {
    std::int32_t sum = 0;
    for (int draw = 0; draw < 2; ++draw) {
        const std::uint64_t bits = chance.next();
        for (unsigned shift = 0; shift < 64; shift += 16)
            sum += static_cast<std::int32_t>(bits >> shift & 0xffff);
    }
    constexpr float deviation = 53509.72f;  // √(8 (2^32 − 1) / 12)
    return static_cast<float>(sum - 4 * 65535) / deviation;
}

void scale_to(double length, std::span<float> row) {
    double squares = 0;
    for (const float value : row) squares += double{value} * value;
    if (squares == 0) return;
    const double factor = length / std::sqrt(squares);
    for (float& value : row) value = static_cast<float>(value * factor);
}

/// Shared by the rows of one set.
class row_maker {
  public:
    row_maker(vectors_kind kind, std::uint32_t dimensions, std::uint64_t seed)
        : kind_(kind), dimensions_(dimensions), seed_(seed) {
        if (kind == vectors_kind::uniform) return;
        random_numbers chance = numbers_of(seed ^ of_sets, 0);
        std::vector<float> mean(dimensions), group(groups * dimensions);
        for (float& value : mean) value = bell(chance);
        for (std::uint64_t g = 0; g < groups; ++g) {
            chance = numbers_of(seed ^ of_groups, g);
            for (std::uint64_t j = 0; j < dimensions; ++j) group[g * dimensions + j] = drawn(chance);
        }
        centres_.resize(clusters * dimensions);
        for (std::uint64_t c = 0; c < clusters; ++c) {
            chance = numbers_of(seed ^ of_clusters, c);
            for (std::uint64_t j = 0; j < dimensions; ++j) {
                const float both = group[c % groups * dimensions + j] + drawn(chance);
                centres_[c * dimensions + j] = kind == vectors_kind::sift ? both * both * 25 : mean[j] + both;
            }
        }
    }

    void fill(std::uint64_t number, std::span<float> row) const {
        random_numbers chance = numbers_of(seed_, number);
        switch (kind_) {
            case vectors_kind::uniform:
                for (float& value : row) value = unit(chance);
                return;
            case vectors_kind::embeddings:
                fill_embedding(number, row, chance);
                return;
            case vectors_kind::sift:
                fill_sift(row, chance);
                return;
        }
    }

  private:
    float drawn(random_numbers& chance) const {
        return kind_ == vectors_kind::sift ? unit(chance) : 0.5f * bell(chance);
    }
    std::span<const float> centre_for(random_numbers& chance) const {
        return std::span(centres_).subspan(chance.next() % clusters * dimensions_, dimensions_);
    }

    void fill_embedding(std::uint64_t number, std::span<float> row, random_numbers& chance) const {
        const std::uint64_t drawn_kind = chance.next();
        if (is_original(number, drawn_kind)) {
            fill_original(row, chance);
            return;
        }
        fill_original(row, earlier_original(number, chance));
        if (drawn_kind % 32 == 0) return;
        const auto noise = static_cast<float>(0x1p-14 / std::sqrt(static_cast<double>(dimensions_)));
        for (float& value : row) value += noise * bell(chance);
    }
    static bool is_original(std::uint64_t number, std::uint64_t drawn_kind) {
        return number == 0 || drawn_kind % 32 > 1;
    }
    /// Its random numbers, after the one that made it an original.
    random_numbers earlier_original(std::uint64_t number, random_numbers& chance) const {
        for (;;) {
            const std::uint64_t earlier = chance.next() % number;
            random_numbers its = numbers_of(seed_, earlier);
            if (is_original(earlier, its.next())) return its;
        }
    }
    void fill_original(std::span<float> row, random_numbers chance) const {
        const std::span<const float> centre = centre_for(chance);
        for (std::size_t j = 0; j < row.size(); ++j) row[j] = centre[j] + 0.6f * bell(chance);
        scale_to(1, row);
    }

    void fill_sift(std::span<float> row, random_numbers& chance) const {
        const std::span<const float> centre = centre_for(chance);
        for (std::size_t j = 0; j < row.size(); ++j) {
            const float strength = 0.5f + unit(chance);
            row[j] = std::max(0.0f, centre[j] * strength + 12 * bell(chance));
        }
        scale_to(512, row);
        for (float& value : row) value = std::min(255.0f, std::floor(value + 0.5f));
    }

    vectors_kind kind_;
    std::uint32_t dimensions_;
    std::uint64_t seed_;
    std::vector<float> centres_;
};

}  // namespace

std::vector<float> make_vectors(vectors_kind kind, std::uint64_t first, std::uint64_t rows,
                                std::uint32_t dimensions, std::uint64_t seed) {
    const row_maker maker(kind, dimensions, seed);
    std::vector<float> made(rows * dimensions);
    tbb::parallel_for(tbb::blocked_range<std::uint64_t>(0, rows, 256), [&](const auto& some) {
        for (std::uint64_t r = some.begin(); r < some.end(); ++r)
            maker.fill(first + r, std::span(made).subspan(r * dimensions, dimensions));
    });
    return made;
}

}  // namespace quern::generator
