// SPDX-License-Identifier: Apache-2.0
// One pass over every component on the CPU: non-finite values, magnitudes, and each row's sum of squares.
#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "device/cpu/parallel.hpp"
#include "ops/nearest/distance/components.hpp"
#include "ops/nearest/distance/distance_kernels.hpp"
#include "ops/nearest/index/tile.hpp"

namespace quern::nearest_detail {
namespace {

/// The statistics of earlier rows take precedence.
void join(row_stats& stats, const row_stats& later) {
    stats.bad_row = std::min(stats.bad_row, later.bad_row);
    if (later.greatest > stats.greatest) {
        stats.greatest = later.greatest;
        stats.greatest_row = later.greatest_row;
    }
    stats.range.least = std::min(stats.range.least, later.range.least);
    stats.range.greatest = std::max(stats.range.greatest, later.range.greatest);
}

/// For bits: those past the last must be 0. squares: the number of set bits.
row_stats stats_of_bits(const row_tile<cpu_place>& tile, std::uint32_t begin, std::uint32_t end,
                        std::span<double> squares) {
    row_stats stats;
    const std::uint32_t used = tile.dimensions % 8, last = (tile.dimensions - 1) / 8;
    for (std::uint32_t i = begin; i < end; ++i) {
        const auto* const row = row_at<vector_type::bits>(tile.values.data(), tile.stride, i);
        if (used != 0 && row[last] >> used != 0) stats.bad_row = std::min(stats.bad_row, i);
        std::int64_t count = 0;
        for (std::uint32_t j = 0; j <= last && !squares.empty(); ++j) count += std::popcount(row[j]);
        if (!squares.empty()) squares[i - begin] = static_cast<double>(count);
    }
    return stats;
}

/// The row's maximum |component|, as bits, which ascend with magnitudes.
std::uint32_t greatest_of(const row_tile<cpu_place>& tile, std::uint32_t row) {
    return with_type(tile.type, [&](auto type) {
        std::uint32_t max = 0;
        if constexpr (is_float(type()) && type() != vector_type::f64) {
            const auto* const components = row_at<type()>(tile.values.data(), tile.stride, row);
            for (std::uint32_t j = 0; j < tile.dimensions; ++j)
                max = std::max(max,
                               std::bit_cast<std::uint32_t>(component<type()>(components, j)) & 0x7fffffffu);
        }
        return max;
    });
}

/// The statistics of rows whose maximum |component| is `max`, which one of them has.
row_stats stats_of_floats(const row_tile<cpu_place>& tile, std::uint32_t begin, std::uint32_t end,
                          std::uint32_t max) {
    row_stats stats;
    const bool finite = is_finite(std::bit_cast<float>(max));
    for (std::uint32_t i = begin; i < end; ++i) {
        const auto greatest = std::bit_cast<float>(greatest_of(tile, i));
        if (!is_finite(greatest)) {
            stats.bad_row = i;
            break;
        }
        if (finite && std::bit_cast<std::uint32_t>(greatest) == max) {
            stats.greatest = double{greatest};
            stats.greatest_row = i;
            break;
        }
    }
    return stats;
}

row_stats stats_of_doubles(const row_tile<cpu_place>& tile, std::uint32_t begin, std::uint32_t end,
                           std::span<double> squares) {
    row_stats stats;
    for (std::uint32_t i = begin; i < end; ++i) {
        const auto* const row = row_at<vector_type::f64>(tile.values.data(), tile.stride, i);
        double square = 0;
        const double greatest = look_at_doubles(row, tile.dimensions, square);
        if (!squares.empty()) squares[i - begin] = square;
        if (!is_finite(greatest))
            stats.bad_row = std::min(stats.bad_row, i);
        else
            stats.greatest = std::max(stats.greatest, greatest);
    }
    return stats;
}

constexpr std::size_t rows_at_once = 64;

row_stats stats_of_rows(const row_tile<cpu_place>& tile, std::uint32_t begin, std::uint32_t end,
                        std::span<double> squares) {
    if (tile.type == vector_type::bits) return stats_of_bits(tile, begin, end, squares);
    if (tile.type == vector_type::f64) return stats_of_doubles(tile, begin, end, squares);
    row_stats stats;
    std::array<const std::byte*, rows_at_once> rows{};
    std::array<double, rows_at_once> found{};
    for (std::uint32_t first = begin; first < end; first += rows_at_once) {
        const std::uint32_t count = std::min<std::uint32_t>(rows_at_once, end - first);
        for (std::uint32_t i = 0; i < count; ++i)
            rows[i] = tile.values.data() + (std::uint64_t{first} + i) * tile.stride;
        row_stats of_these;
        if (is_float(tile.type)) {
            const std::uint32_t max =
                look_at_floats(tile.type, rows.data(), count, tile.dimensions, found.data());
            if (max > std::bit_cast<std::uint32_t>(static_cast<float>(stats.greatest)))
                of_these = stats_of_floats(tile, first, first + count, max);
        } else {
            of_these.range = look_at_integers(tile.type, rows.data(), count, tile.dimensions, found.data());
        }
        if (!squares.empty()) std::copy_n(found.begin(), count, squares.begin() + (first - begin));
        if (first == begin)
            stats = of_these;
        else
            join(stats, of_these);
    }
    return stats;
}

}  // namespace

row_stats stats_of(cpu_place& place, const row_tile<cpu_place>& tile, std::span<double> squares) {
    if (tile.rows == 0) return {};
    // Small enough for the pages of mapped rows to be released in time.
    constexpr std::size_t piece_bytes = std::size_t{4} << 20;
    const std::size_t pieces =
        std::max<std::size_t>(pieces_for(place, tile.rows, 256, 16), tile.rows * tile.stride / piece_bytes);
    std::vector<row_stats> stats(pieces);
    for_each_piece(place, pieces, [&](std::size_t p) {
        place.ctx().check_stop();
        const auto [begin, end] = piece_of(tile.rows, pieces, p);
        stats[p] = stats_of_rows(tile, static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(end),
                                 squares.empty() ? squares : squares.subspan(begin, end - begin));
    });
    for (std::size_t p = 1; p < pieces; ++p) join(stats[0], stats[p]);
    return stats[0];
}

}  // namespace quern::nearest_detail
