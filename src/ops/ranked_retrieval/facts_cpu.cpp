// SPDX-License-Identifier: Apache-2.0
// One look at every component on the CPU: what is not finite, how large they are, and each row's sum of squares.
#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "device/cpu/parallel.hpp"
#include "ops/ranked_retrieval/components.hpp"
#include "ops/ranked_retrieval/double_kernels.hpp"
#include "ops/ranked_retrieval/facts_kernels.hpp"
#include "ops/ranked_retrieval/tile.hpp"

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

/// Of bits: those beyond the last must be 0. squares: how many are set.
row_facts facts_of_bits(const row_tile<cpu_place>& tile, std::uint32_t begin, std::uint32_t end,
                        std::span<double> squares) {
    row_facts facts;
    const std::uint32_t used = tile.dimensions % 8, last = (tile.dimensions - 1) / 8;
    for (std::uint32_t i = begin; i < end; ++i) {
        const auto* const row = row_at<vector_type::bits>(tile.values.data(), tile.stride, i);
        if (used != 0 && row[last] >> used != 0) facts.bad_row = std::min(facts.bad_row, i);
        std::int64_t count = 0;
        for (std::uint32_t j = 0; j <= last && !squares.empty(); ++j) count += std::popcount(row[j]);
        if (!squares.empty()) squares[i - begin] = static_cast<double>(count);
    }
    return facts;
}

/// The row's greatest |component|, as bits, which rise with magnitudes.
std::uint32_t greatest_of(const row_tile<cpu_place>& tile, std::uint32_t row) {
    return with_type(tile.type, [&](auto type) {
        std::uint32_t most = 0;
        if constexpr (is_float(type()) && type() != vector_type::f64) {
            const auto* const components = row_at<type()>(tile.values.data(), tile.stride, row);
            for (std::uint32_t j = 0; j < tile.dimensions; ++j)
                most = std::max(most,
                                std::bit_cast<std::uint32_t>(component<type()>(components, j)) & 0x7fffffffu);
        }
        return most;
    });
}

/// What is known of rows whose greatest |component| is `most`, which some of them holds.
row_facts facts_of_floats(const row_tile<cpu_place>& tile, std::uint32_t begin, std::uint32_t end,
                          std::uint32_t most) {
    row_facts facts;
    const bool finite = is_finite(std::bit_cast<float>(most));
    for (std::uint32_t i = begin; i < end; ++i) {
        const auto greatest = std::bit_cast<float>(greatest_of(tile, i));
        if (!is_finite(greatest)) {
            facts.bad_row = i;
            break;
        }
        if (finite && std::bit_cast<std::uint32_t>(greatest) == most) {
            facts.greatest = double{greatest};
            facts.greatest_row = i;
            break;
        }
    }
    return facts;
}

row_facts facts_of_doubles(const row_tile<cpu_place>& tile, std::uint32_t begin, std::uint32_t end,
                           std::span<double> squares) {
    row_facts facts;
    for (std::uint32_t i = begin; i < end; ++i) {
        const auto* const row = row_at<vector_type::f64>(tile.values.data(), tile.stride, i);
        double square = 0;
        const double greatest = look_at_doubles(row, tile.dimensions, square);
        if (!squares.empty()) squares[i - begin] = square;
        if (!is_finite(greatest))
            facts.bad_row = std::min(facts.bad_row, i);
        else
            facts.greatest = std::max(facts.greatest, greatest);
    }
    return facts;
}

constexpr std::size_t rows_at_once = 64;

row_facts facts_of_rows(const row_tile<cpu_place>& tile, std::uint32_t begin, std::uint32_t end,
                        std::span<double> squares) {
    if (tile.type == vector_type::bits) return facts_of_bits(tile, begin, end, squares);
    if (tile.type == vector_type::f64) return facts_of_doubles(tile, begin, end, squares);
    row_facts facts;
    std::array<const std::byte*, rows_at_once> rows{};
    std::array<double, rows_at_once> found{};
    for (std::uint32_t first = begin; first < end; first += rows_at_once) {
        const std::uint32_t count = std::min<std::uint32_t>(rows_at_once, end - first);
        for (std::uint32_t i = 0; i < count; ++i)
            rows[i] = tile.values.data() + (std::uint64_t{first} + i) * tile.stride;
        row_facts of_these;
        if (is_float(tile.type)) {
            const std::uint32_t most =
                look_at_floats(tile.type, rows.data(), count, tile.dimensions, found.data());
            if (most > std::bit_cast<std::uint32_t>(static_cast<float>(facts.greatest)))
                of_these = facts_of_floats(tile, first, first + count, most);
        } else {
            of_these.range = look_at_integers(tile.type, rows.data(), count, tile.dimensions, found.data());
        }
        if (!squares.empty()) std::copy_n(found.begin(), count, squares.begin() + (first - begin));
        if (first == begin)
            facts = of_these;
        else
            join(facts, of_these);
    }
    return facts;
}

}  // namespace

row_facts facts_of(cpu_place& place, const row_tile<cpu_place>& tile, std::span<double> squares) {
    if (tile.rows == 0) return {};
    const std::size_t pieces = pieces_for(place, tile.rows, 256, 16);
    std::vector<row_facts> facts(pieces);
    for_each_piece(place, pieces, [&](std::size_t p) {
        place.run().check_stop();
        const auto [begin, end] = piece_of(tile.rows, pieces, p);
        facts[p] = facts_of_rows(tile, static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(end),
                                 squares.empty() ? squares : squares.subspan(begin, end - begin));
    });
    for (std::size_t p = 1; p < pieces; ++p) join(facts[0], facts[p]);
    return facts[0];
}

}  // namespace quern::ranked_retrieval_detail
