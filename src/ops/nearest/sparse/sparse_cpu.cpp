// SPDX-License-Identifier: Apache-2.0
// Sparse rows on the CPU: their statistics, and exact distances. Queries are prepared sixteen to a group; threads take
// panels of rows that stay in the cache while all groups of a batch pass over them. sql2 of small integers (sets,
// counts) is computed from products.
#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cmath>
#include <vector>

#include "device/cpu/parallel.hpp"
#include "ops/nearest/index/tile.hpp"
#include "ops/nearest/sparse/sparse_kernels.hpp"
#include "ops/nearest/sparse/sparse_pair.hpp"

namespace quern::nearest_detail {
namespace {

constexpr std::size_t rows_at_least = 256;  // of a piece
using sums16 = std::array<float, partial_sums>;

bool columns_are_right(sparse_row row, std::uint32_t dimensions) {
    bool right = row.size == 0 || row.columns[row.size - 1] < dimensions;
    for (std::uint64_t e = 1; e < row.size; ++e) right &= row.columns[e - 1] < row.columns[e];
    return right;
}

/// Checks one row; `stats` are of the rows before it.
void look_at(sparse_row row, std::uint32_t i, std::uint32_t dimensions, row_stats& stats) {
    bool right = columns_are_right(row, dimensions);
    for (std::uint64_t e = 0; e < row.size; ++e) {
        const float size = std::fabs(row.values[e]);
        if (!is_finite(size)) {
            right = false;
        } else if (double{size} > stats.greatest) {
            stats.greatest = double{size};
            stats.greatest_row = i;
        }
    }
    if (!right && stats.bad_row == no_row) stats.bad_row = i;
}

double sum_of_squares(sparse_row row) {
    sums16 sums{};
    for (std::uint64_t e = 0; e < row.size; ++e)
        sums[row.columns[e] % partial_sums] += row.values[e] * row.values[e];
    return double{joined_sums<part_kind::products>(sums.data())};
}

void check_sizes(std::size_t squares, std::uint32_t rows) {
    if (squares != 0 && squares != rows)
        throw usage_error("sums of squares are wanted of every row or of none");
}

}  // namespace

row_stats stats_of(cpu_place& place, const sparse_tile<cpu_place>& tile, std::span<double> squares) {
    check_sizes(squares.size(), tile.rows);
    const std::size_t pieces = pieces_for(place, tile.rows, rows_at_least);
    std::vector<row_stats> found(pieces);
    for_each_piece(place, pieces, [&](std::size_t p) {
        place.ctx().check_stop();
        const auto [begin, end] = piece_of(tile.rows, pieces, p);
        row_stats stats;
        for (std::size_t i = begin; i < end; ++i) {
            const sparse_row row = rows_of(tile)[i];
            look_at(row, static_cast<std::uint32_t>(i), tile.dimensions, stats);
            if (!squares.empty()) squares[i] = sum_of_squares(row);
        }
        found[p] = stats;
    });
    row_stats whole;
    for (const row_stats& stats : found) {
        if (whole.bad_row == no_row) whole.bad_row = stats.bad_row;
        if (stats.greatest > whole.greatest) {
            whole.greatest = stats.greatest;
            whole.greatest_row = stats.greatest_row;
        }
    }
    return whole;
}

namespace {

constexpr std::size_t block_rows = 64;           // whose keys are transposed from rows to queries together
constexpr std::size_t panel_entries = 48 << 10;  // of rows that stay in the second-level cache
constexpr std::size_t batch_groups = 16;         // of queries that are prepared at once
constexpr std::uint32_t max_buckets = 1u << 22;  // of a group: tables of 1 MB
constexpr std::uint32_t min_buckets = 1u << 12;

/// Keys of a range of rows and of the queries of one group, the first of which is `query`.
class group_keys {
  public:
    group_keys(const row_range& all, vector_metric metric, bool by_products, std::size_t n,
               std::span<std::uint32_t> keys)
        : all_(all), metric_(metric), by_products_(by_products), n_(n), keys_(keys) {}

    void operator()(const query_group& group, std::size_t query, std::size_t queries, item_range rows) const {
        alignas(64) std::uint32_t found[block_rows * group_queries];
        row_range block = all_;
        for (block.begin = rows.begin; block.begin < rows.end; block.begin = block.end) {
            block.end = std::min(block.begin + block_rows, rows.end);
            if (by_products_)
                sparse_product_keys(group, block, metric_, found);
            else
                sparse_merged_keys(group, block, metric_, found);
            for (std::size_t q = 0; q < queries; ++q) {
                std::uint32_t* const to = keys_.data() + (query + q) * n_;
                for (std::size_t i = block.begin; i < block.end; ++i)
                    to[i] = found[(i - block.begin) * group.width + q];
            }
        }
    }

  private:
    row_range all_;
    vector_metric metric_;
    bool by_products_;
    std::size_t n_;
    std::span<std::uint32_t> keys_;
};

/// The end of a panel of rows that starts at `begin`: whole blocks, at least one.
std::size_t end_of_panel(const row_range& rows, std::size_t begin, std::size_t end) {
    std::uint64_t entries = 0;
    std::size_t i = begin;
    while (i < end && (entries < panel_entries || (i - begin) % block_rows != 0))
        entries += rows.rows[rows.id(i++)].size;
    return i;
}

// ---- sql2 by products ----

/// (a − b)² and all sums of it are at most 2·(Σa² + Σb²), and floats hold every integer up to 2^24. So if values are
/// integers and Σa² + Σb² is at most this, each sum is exact in any order, and Σ(a − b)² = Σa² + Σb² − 2·Σab.
constexpr double max_exact = 0x1p23;

/// Σa² of integers; above max_exact if another value occurs.
double sum_of_integer_squares(sparse_row row) {
    constexpr float whole = 0x1.8p23f;  // x + whole − whole is x only for integers, below 2^22
    float sums[16] = {};
    bool integers = true;
    const auto take = [&](float value, float& sum) {
        integers &= value + whole - whole == value;
        sum += value * value;
    };
    std::uint64_t e = 0;
    for (; e + 16 <= row.size; e += 16)
        for (unsigned k = 0; k < 16; ++k) take(row.values[e + k], sums[k]);
    for (; e < row.size; ++e) take(row.values[e], sums[0]);
    double sum = 0;
    for (const float part : sums) sum += double{part};
    return integers ? sum : 2 * max_exact;
}

/// For all rows and queries, if sql2 can be computed from products; otherwise `rows` is empty.
struct exact_lengths {
    cpu_array<double> rows, queries;
};

/// False, and early, if a sum is above `max`; otherwise sets them.
bool find_lengths(cpu_place& place, const sparse_tile<cpu_place>& tile, double max,
                  std::span<double> lengths) {
    const std::size_t pieces = pieces_for(place, tile.rows, rows_at_least);
    std::atomic<bool> below = true;
    for_each_piece(place, pieces, [&](std::size_t p) {
        const auto [begin, end] = piece_of(tile.rows, pieces, p);
        for (std::size_t i = begin; i < end && below.load(std::memory_order_relaxed); ++i) {
            lengths[i] = sum_of_integer_squares(rows_of(tile)[i]);
            if (!(lengths[i] <= max)) below.store(false, std::memory_order_relaxed);
        }
    });
    return below.load();
}

exact_lengths find_exact_lengths(cpu_place& place, const sparse_tile<cpu_place>& tile,
                                 const sparse_tile<cpu_place>& queries) {
    exact_lengths found{{}, {place, queries.rows, "lengths of sparse queries"}};
    if (!find_lengths(place, queries, max_exact, found.queries.span())) return {};
    double greatest = 0;
    for (const double length : found.queries.span()) greatest = std::max(greatest, length);
    found.rows = {place, tile.rows, "lengths of sparse rows"};
    if (!find_lengths(place, tile, max_exact - greatest, found.rows.span())) return {};
    return found;
}

/// As many as rows have entries, because a table is made once for all rows and should not cost more than they do.
std::uint32_t buckets_for(std::uint64_t entries) {
    return std::clamp(
        static_cast<std::uint32_t>(std::bit_ceil(std::min<std::uint64_t>(entries, max_buckets))), min_buckets,
        max_buckets);
}

}  // namespace

template <class Key>
void distance_keys(cpu_place& place, const sparse_tile<cpu_place>& tile,
                   const sparse_tile<cpu_place>& queries, vector_metric metric,
                   std::span<const std::uint32_t> rows, std::span<Key> keys) {
    const std::size_t n = rows.empty() ? tile.rows : rows.size();
    if (n == 0 || queries.rows == 0) return;
    exact_lengths lengths;  // worth a pass over all rows if all are requested
    if (rows.empty() && part_of(metric) == part_kind::squares)
        lengths = find_exact_lengths(place, tile, queries);
    const bool by_products = part_of(metric) == part_kind::products || lengths.rows.size() != 0;
    sparse_tile<cpu_place> requested = queries;
    if (lengths.rows.size() != 0) requested.squares = lengths.queries.span();
    const row_range all{.rows = rows_of(tile),
                        .list = rows.empty() ? nullptr : rows.data(),
                        .squares = lengths.rows.size() != 0 ? lengths.rows.data() : tile.squares.data(),
                        .begin = 0,
                        .end = n};
    const group_keys set_keys(all, metric, by_products, n, keys);
    const std::uint32_t buckets = buckets_for(8 * (tile.columns.size() / tile.rows + 1) * n);
    const std::size_t row_pieces = pieces_for(place, n, block_rows, 8);
    for (std::size_t first = 0; first < queries.rows; first += batch_groups * group_queries) {
        const std::size_t count = std::min<std::size_t>(batch_groups * group_queries, queries.rows - first);
        const query_groups groups(place, requested, first, count, metric, by_products, buckets);
        // Few rows: threads share the groups too.
        const std::size_t shares =
            std::clamp<std::size_t>(4 * place.threads() / row_pieces, 1, groups.size());
        for_each_piece(place, row_pieces * shares, [&](std::size_t p) {
            const auto [begin, end] = piece_of(n, row_pieces, p / shares);
            const auto [first_group, last_group] = piece_of(groups.size(), shares, p % shares);
            for (std::size_t panel = begin; panel < end;) {
                const std::size_t panel_end = end_of_panel(all, panel, end);
                for (std::size_t g = first_group; g < last_group; ++g) {
                    place.ctx().check_stop();
                    const std::size_t query = g * groups.width();
                    set_keys(groups[g], first + query, std::min(groups.width(), count - query),
                             {panel, panel_end});
                }
                panel = panel_end;
            }
        });
    }
}

template void distance_keys<std::uint32_t>(cpu_place&, const sparse_tile<cpu_place>&,
                                           const sparse_tile<cpu_place>&, vector_metric,
                                           std::span<const std::uint32_t>, std::span<std::uint32_t>);

}  // namespace quern::nearest_detail
