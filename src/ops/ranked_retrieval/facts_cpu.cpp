// SPDX-License-Identifier: Apache-2.0
// One look at every component on the CPU: what is not finite, how large they are, and each row's sum of squares.
#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "device/cpu/parallel.hpp"
#include "ops/ranked_retrieval/keys_cpu.hpp"

namespace quern::ranked_retrieval_detail {
namespace {

/// The earlier rows' facts come first.
void join(row_facts& facts, const row_facts& later) {
    facts.bad_row = std::min(facts.bad_row, later.bad_row);
    if (later.greatest > facts.greatest) {
        facts.greatest = later.greatest;
        facts.greatest_row = later.greatest_row;
    }
    facts.range.least = std::min(facts.range.least, later.range.least);
    facts.range.greatest = std::max(facts.range.greatest, later.range.greatest);
}

template <vector_type Type>
row_facts facts_of_rows(const row_tile<cpu_place>& tile, std::uint32_t begin, std::uint32_t end) {
    row_facts facts;
    if constexpr (Type == vector_type::bits) {
        const std::uint32_t used = tile.dimensions % 8, last = (tile.dimensions - 1) / 8;
        for (std::uint32_t i = begin; i < end && used != 0; ++i) {
            if (row_at<Type>(tile.values.data(), tile.stride, i)[last] >> used == 0) continue;
            facts.bad_row = i;
            break;
        }
    } else if constexpr (is_float(Type)) {
        for (std::uint32_t i = begin; i < end; ++i) {
            const auto* const row = row_at<Type>(tile.values.data(), tile.stride, i);
            // As bits, magnitudes compare as they do as floats, and what is not finite is above all others.
            std::uint32_t most = 0;
            for (std::uint32_t j = 0; j < tile.dimensions; ++j)
                most = std::max(most, std::bit_cast<std::uint32_t>(component<Type>(row, j)) & 0x7fffffffu);
            const auto greatest = std::bit_cast<float>(most);
            if (!is_finite(greatest)) {
                facts.bad_row = i;
                break;
            }
            if (greatest > facts.greatest) {
                facts.greatest = greatest;
                facts.greatest_row = i;
            }
        }
    } else {
        using limits = std::numeric_limits<stored_t<Type>>;
        stored_t<Type> least = limits::max(), most = limits::min();
        for (std::uint32_t i = begin; i < end; ++i) {
            const auto* const row = row_at<Type>(tile.values.data(), tile.stride, i);
            for (std::uint32_t j = 0; j < tile.dimensions; ++j) {
                least = std::min(least, row[j]);
                most = std::max(most, row[j]);
            }
        }
        facts.range = {least, most};
    }
    return facts;
}

template <vector_type Type>
void squares_of_rows(const row_tile<cpu_place>& tile, std::uint32_t begin, std::span<double> squares) {
    for (double& square : squares) {
        const auto* const row = row_at<Type>(tile.values.data(), tile.stride, begin++);
        if constexpr (Type == vector_type::bits) {
            std::int64_t count = 0;
            for (std::uint64_t j = 0; j < bytes_of_row(Type, tile.dimensions); ++j)
                count += std::popcount(row[j]);
            square = static_cast<double>(count);
        } else {
            square = static_cast<double>(sum_of_row<Type, part_kind::products>(row, row, tile.dimensions));
        }
    }
}

}  // namespace

row_facts facts_of(cpu_place& place, const row_tile<cpu_place>& tile, std::span<double> squares) {
    if (tile.rows == 0) return {};
    const std::size_t pieces = pieces_for(place, tile.rows, 256, 16);
    std::vector<row_facts> facts(pieces);
    for_each_piece(place, pieces, [&](std::size_t p) {
        place.run().check_stop();
        const auto [begin, end] = piece_of(tile.rows, pieces, p);
        const auto first = static_cast<std::uint32_t>(begin), last = static_cast<std::uint32_t>(end);
        with_type(tile.type, [&](auto type) {
            facts[p] = facts_of_rows<type()>(tile, first, last);
            if (!squares.empty()) squares_of_rows<type()>(tile, first, squares.subspan(begin, end - begin));
        });
    });
    for (std::size_t p = 1; p < pieces; ++p) join(facts[0], facts[p]);
    return facts[0];
}

}  // namespace quern::ranked_retrieval_detail
