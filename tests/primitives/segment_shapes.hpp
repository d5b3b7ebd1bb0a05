// SPDX-License-Identifier: Apache-2.0
// Difficult partitions of items into segments, and offsets that are rejected.
#pragma once

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace quern {

struct segment_shape {
    std::string name;
    std::vector<std::uint64_t> offsets;
};

/// Segments of random lengths below `longest`, until `items` are used up.
inline std::vector<std::uint64_t> random_offsets(std::uint64_t items, std::uint64_t longest,
                                                 std::uint64_t seed) {
    std::mt19937_64 random(seed);
    std::vector<std::uint64_t> offsets = {0};
    while (offsets.back() < items) offsets.push_back(std::min(items, offsets.back() + random() % longest));
    return offsets;
}

inline std::vector<segment_shape> segment_shapes(std::uint64_t items, std::uint64_t seed = 1) {
    std::vector<segment_shape> shapes = {{"one segment", {0, items}},
                                         {"short ones", random_offsets(items, 8, seed)},
                                         {"middling ones", random_offsets(items, 200, seed)},
                                         {"around a block", random_offsets(items, 3000, seed)}};
    std::vector<std::uint64_t> singles(items + 1);
    for (std::uint64_t i = 0; i <= items; ++i) singles[i] = i;
    shapes.push_back({"one item each", singles});
    std::vector<std::uint64_t> giant(2500, 0);
    giant.resize(5000, items);
    shapes.push_back({"a giant among empty ones", giant});
    std::vector<std::uint64_t> mixed = random_offsets(items / 8, 5, seed);
    mixed.push_back(items - items / 8);
    for (const std::uint64_t offset : random_offsets(items / 8, 40, seed))
        mixed.push_back(items - items / 8 + offset);
    shapes.push_back({"short ones around a giant", mixed});
    if (items == 0) {
        shapes.push_back({"no segments", {}});
        shapes.push_back({"no segments, one offset", {0}});
    }
    return shapes;
}

/// Offsets that do not ascend from 0 to `items` (at least 4), and the reported segment.
struct wrong_offsets {
    std::vector<std::uint64_t> offsets;
    std::uint64_t segment;
};
inline std::vector<wrong_offsets> all_wrong_offsets(std::uint64_t items) {
    std::vector<wrong_offsets> all = {{{}, 0},
                                      {{0}, 0},
                                      {{items}, 0},
                                      {{1, items}, 0},
                                      {{1, 0, items}, 0},
                                      {{0, 2, 1, items}, 1},
                                      {{0, items + 1, items}, 0},
                                      {{0, 3, items + 1}, 1},
                                      {{0, 3, ~std::uint64_t{0}, items}, 1},
                                      {{0, 1, 2, items - 1}, 2},
                                      {{0, 3, 2, 1, items - 1}, 1}};
    std::vector<std::uint64_t> long_ones(1'000'003, 1);  // wrong twice, near the end
    long_ones[0] = 0;
    long_ones.back() = items;
    long_ones[800'001] = long_ones[900'001] = 0;
    all.push_back({long_ones, 800'000});
    return all;
}

}  // namespace quern
