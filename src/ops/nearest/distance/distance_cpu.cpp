// SPDX-License-Identifier: Apache-2.0
// Rank keys of rows and queries on the CPU. Queries are prepared once (as f32, or as integers of the kernel's width).
// Threads take panels of rows that stay in the cache while all queries pass over them, so that each row is read once from
// memory for one query or many.
//
// Integers: 32-bit sums if the keys have 32 bits, because the sums then fit. For 64-bit keys: i8 and u8 in blocks of
// components whose sums fit 32 bits, widened after each; products and squares of i16 directly in 64 bits.
#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "device/cpu/parallel.hpp"
#include "ops/nearest/distance/distance_kernels.hpp"
#include "ops/nearest/distance/keys_cpu.hpp"

namespace quern::nearest_detail {
namespace {

// Rank keys of rows of f64 on the CPU.

/// distance_keys of such tiles: one row and a block of queries at a time. Threads share the rows, and also the queries if
/// there are too few rows.
template <class Key>
void double_keys(cpu_place& place, const row_tile<cpu_place>& tile, const row_tile<cpu_place>& queries,
                 vector_metric metric, std::span<const std::uint32_t> rows, std::span<Key> keys) {
    constexpr std::size_t block_bytes = 256 << 10;  // of queries: a part of a core's second-level cache
    const std::size_t count = rows.empty() ? tile.rows : rows.size();
    const std::size_t at_once =
        std::clamp<std::size_t>(block_bytes / bytes_of_row(tile.type, tile.dimensions) / 4 * 4, 4, 256);
    const part_kind kind = part_of(metric);
    const std::size_t row_pieces = pieces_for(place, count, 64, 16);
    const std::size_t query_pieces =
        row_pieces >= 4 * std::size_t{place.threads()} ? 1 : pieces_for(place, queries.rows, 64);
    for_each_piece(place, row_pieces * query_pieces, [&](std::size_t p) {
        const auto [first, last] = piece_of(count, row_pieces, p / query_pieces);
        const auto [begin, end] = piece_of(queries.rows, query_pieces, p % query_pieces);
        std::vector<double> sums(at_once);
        for (std::size_t q = begin; q < end; q += at_once) {
            place.ctx().check_stop();
            const std::size_t requested = std::min(at_once, end - q);
            const auto* const b = row_at<vector_type::f64>(queries.values.data(), queries.stride, q);
            for (std::size_t i = first; i < last; ++i) {
                const std::uint32_t row = requested_row(rows, i);
                sum_doubles(kind, row_at<vector_type::f64>(tile.values.data(), tile.stride, row), b,
                            queries.stride / sizeof(double), requested, tile.dimensions, sums.data());
                for (std::size_t j = 0; j < requested; ++j)
                    keys[(q + j) * count + i] =
                        key_of_sum<Key>(metric, sums[j], square_of(tile, row),
                                        square_of(queries, static_cast<std::uint32_t>(q + j)));
            }
        }
    });
}

constexpr std::size_t panel_bytes = 256 << 10;    // of rows: a part of a core's second-level cache
constexpr std::size_t block_components = 32'768;  // 255² · 2^15 < 2^31
constexpr std::size_t widened_from = 4;           // queries from which on an f32 copy of f16 rows pays

/// a·b| ≤ √(Σa²·Σb²): below it, sums of products of i16, and all their partial sums, have 31 bits.
constexpr double greatest_short_square = 2147483647.0;

double greatest_square(const row_tile<cpu_place>& tile) {
    return tile.squares.empty() ? 0 : *std::max_element(tile.squares.begin(), tile.squares.end());
}

lanes_of lanes_for(const row_tile<cpu_place>& tile, const row_tile<cpu_place>& queries, vector_metric metric,
                   bool wide_keys) {
    if (is_float(tile.type)) return lanes_of::floats;
    const bool two_bytes = tile.type == vector_type::i16;
    switch (part_of(metric)) {
        case part_kind::different_bits:
            return lanes_of::words;
        case part_kind::greatest:
            return lanes_of::integers;
        case part_kind::differences:
            return two_bytes ? lanes_of::integers : lanes_of::shorts;
        case part_kind::products:
            if (two_bytes && metric == vector_metric::cosine)
                return greatest_square(tile) <= greatest_short_square &&
                               greatest_square(queries) <= greatest_short_square
                           ? lanes_of::shorts
                           : lanes_of::longs;
            return two_bytes && wide_keys ? lanes_of::longs : lanes_of::shorts;
        default:
            // If the sum of five squares fits 32 bits, their differences fit 16.
            return two_bytes && (wide_keys || tile.dimensions < 5) ? lanes_of::longs : lanes_of::shorts;
    }
}

// ---- Queries ----

constexpr std::size_t lane_bytes(lanes_of lanes) {
    return lanes == lanes_of::words ? 1 : lanes == lanes_of::shorts ? 2 : 4;
}

/// Components in the kernel's form: row after row, each padded with zeros.
struct ready_queries {
    cpu_array<std::byte> memory;
    std::size_t stride = 0;  // elements
    std::size_t bytes_each = 0;
    const std::byte* at(std::size_t q, std::size_t component = 0) const {
        return memory.data() + (q * stride + component) * bytes_each;
    }
};

template <class To>
void fill_row(const row_tile<cpu_place>& queries, std::size_t q, To* to) {
    with_type(queries.type, [&](auto type) {
        const auto* const from = row_at<type()>(queries.values.data(), queries.stride, q);
        if constexpr (type() != vector_type::bits && type() != vector_type::f64)
            for (std::uint32_t j = 0; j < queries.dimensions; ++j)
                to[j] = static_cast<To>(value_of<type()>(from[j]));
    });
}

ready_queries make_ready(cpu_place& place, const row_tile<cpu_place>& queries, lanes_of lanes) {
    const std::size_t width = lanes == lanes_of::words ? bytes_of_row(queries.type, queries.dimensions)
                                                       : std::size_t{queries.dimensions};
    ready_queries ready;
    ready.bytes_each = lane_bytes(lanes);
    ready.stride = (width + query_unit - 1) / query_unit * query_unit;
    ready.memory =
        make_array<std::byte>(place, queries.rows * ready.stride * ready.bytes_each, "the queries");
    const std::size_t pieces = pieces_for(place, queries.rows, 256);
    for_each_piece(place, pieces, [&](std::size_t p) {
        const auto [begin, end] = piece_of(queries.rows, pieces, p);
        for (std::size_t q = begin; q < end; ++q) {
            std::byte* const to = ready.memory.data() + q * ready.stride * ready.bytes_each;
            void* const row = to;
            std::memset(row, 0, ready.stride * ready.bytes_each);
            if (lanes == lanes_of::words)
                std::memcpy(row, queries.values.data() + q * queries.stride, width);
            else if (lanes == lanes_of::floats)
                fill_row(queries, q, static_cast<float*>(row));
            else if (lanes == lanes_of::shorts)
                fill_row(queries, q, static_cast<std::int16_t*>(row));
            else
                fill_row(queries, q, static_cast<std::int32_t*>(row));
        }
    });
    return ready;
}

// ---- Panels ----

/// The constants over all panels.
template <class Key>
struct ranking_job {
    const row_tile<cpu_place>& tile;
    const row_tile<cpu_place>& queries;
    vector_metric metric = vector_metric::l2;
    lanes_of lanes = lanes_of::floats;
    std::span<const std::uint32_t> rows;
    std::size_t count = 0;       // of requested rows
    std::size_t panel_rows = 0;  // at least 16
    const ready_queries& ready;
    std::span<Key> keys;
};

/// One thread's memory for a panel.
template <class Key>
class panel {
  public:
    panel(cpu_place& place, const ranking_job<Key>& job) : job_(job), rows_(job.panel_rows), squares_() {
        if (job.metric == vector_metric::cosine) {
            squares_.resize(job.panel_rows);
            products_.resize(job.panel_rows);
        }
        if (!sums_are_keys()) {
            sums_.resize(job.panel_rows);
            totals_.resize(job.panel_rows);
        }
        if ((job.tile.type == vector_type::f16 || job.tile.type == vector_type::bf16) &&
            job.queries.rows >= widened_from) {
            wide_stride_ =
                (std::size_t{job.tile.dimensions} + partial_sums - 1) / partial_sums * partial_sums;
            wide_ = make_array<float>(place, job.panel_rows * wide_stride_, "rows as float32");
            std::memset(wide_.data(), 0, wide_.size() * sizeof(float));
        }
    }

    /// Keys of the requested rows from `begin` on, for some queries.
    void rank(std::size_t begin, std::size_t size, std::size_t first_query, std::size_t query_count) {
        find_rows(begin, size);
        sums_wanted wanted{.type = wide_stride_ != 0 ? vector_type::f32 : job_.tile.type,
                           .kind = part_of(job_.metric),
                           .lanes = job_.lanes,
                           .rows = rows_.data(),
                           .row_count = size,
                           .dimensions = wide_stride_ != 0 ? wide_stride_ : width(),
                           .queries = job_.ready.at(first_query),
                           .query_stride = job_.ready.stride,
                           .query_count = query_count,
                           .in_order = job_.rows.empty()};
        if constexpr (sizeof(Key) == 4) {
            if (sums_are_keys()) {
                Key* const out = job_.keys.data() + first_query * job_.count + begin;
                sum(wanted, out, job_.count);
                for (std::size_t q = 0; q < query_count; ++q)
                    finish(std::span(out + q * job_.count, size), first_query + q);
                return;
            }
        }
        wanted.query_count = 1;
        for (std::size_t q = first_query; q < first_query + query_count; ++q) {
            wanted.queries = job_.ready.at(q);
            sum_in_64_bits(wanted, q);
            rank_totals(std::span(job_.keys).subspan(q * job_.count + begin, size), q);
        }
    }

  private:
    /// Whether a kernel's sums of 32 bits can be stored in place of the keys.
    bool sums_are_keys() const {
        const bool integer_cosine = job_.metric == vector_metric::cosine && !is_float(job_.tile.type);
        return sizeof(Key) == 4 && job_.lanes != lanes_of::longs && !integer_cosine;
    }
    std::size_t width() const {
        return job_.lanes == lanes_of::words ? bytes_of_row(job_.tile.type, job_.tile.dimensions)
                                             : std::size_t{job_.tile.dimensions};
    }

    static void sum(const sums_wanted& wanted, std::uint32_t* sums, std::size_t stride) {
        if (wanted.lanes == lanes_of::words)
            sum_bits(wanted, sums, stride);
        else
            sum_parts(wanted, sums, stride);
    }

    void find_rows(std::size_t begin, std::size_t size) {
        const row_tile<cpu_place>& tile = job_.tile;
        for (std::size_t i = 0; i < size; ++i) {
            const std::uint32_t row = requested_row(job_.rows, begin + i);
            rows_[i] = tile.values.data() + row * tile.stride;
            if (!squares_.empty()) squares_[i] = tile.squares[row];
            if (wide_stride_ == 0) continue;
            float* const wide = wide_.data() + i * wide_stride_;
            widen_floats(tile.type, rows_[i], tile.dimensions, wide);
            rows_[i] = static_cast<const std::byte*>(static_cast<const void*>(wide));
        }
    }

    /// Sums of 32 bits → keys, in place.
    void finish(std::span<std::uint32_t> sums, std::size_t query) {
        if (job_.metric == vector_metric::cosine) {
            for (std::size_t i = 0; i < sums.size(); ++i)
                products_[i] = double{std::bit_cast<float>(sums[i])};
            rank_cosines(products_.data(), squares_.data(), job_.queries.squares[query], sums.size(),
                         sums.data());
        } else if (job_.metric == vector_metric::ip) {
            if (is_float(job_.tile.type)) return rank_products(sums.data(), sums.size());
            for (std::uint32_t& sum : sums)
                sum = key_of_product<std::uint32_t>(static_cast<std::int32_t>(sum));
        }
    }

    /// totals_ of one query: block after block of components.
    void sum_in_64_bits(sums_wanted wanted, std::size_t query) {
        if (wanted.lanes == lanes_of::longs) return sum_long_parts(wanted, totals_.data(), 0);
        std::fill_n(totals_.begin(), wanted.row_count, 0);
        const bool whole = wanted.kind == part_kind::greatest || wanted.kind == part_kind::different_bits;
        const std::size_t step = whole ? wanted.dimensions : block_components;
        const std::size_t all = wanted.dimensions, stored = bytes_of_row(job_.tile.type, 8) / 8;
        for (std::size_t at = 0; at < all; at += step) {
            wanted.dimensions = std::min(step, all - at);
            wanted.queries = job_.ready.at(query, at);
            sum(wanted, sums_.data(), 0);
            const bool is_signed = wanted.kind == part_kind::products;
            for (std::size_t i = 0; i < wanted.row_count; ++i) {
                totals_[i] +=
                    is_signed ? std::int64_t{static_cast<std::int32_t>(sums_[i])} : std::int64_t{sums_[i]};
                if (at + step < all) rows_[i] += step * stored;
            }
        }
        if (all > step)
            for (std::size_t i = 0; i < wanted.row_count; ++i) rows_[i] -= (all - 1) / step * step * stored;
    }

    void rank_totals(std::span<Key> keys, std::size_t query) {
        if constexpr (sizeof(Key) == 4) {
            if (job_.metric == vector_metric::cosine) {
                for (std::size_t i = 0; i < keys.size(); ++i) products_[i] = static_cast<double>(totals_[i]);
                return rank_cosines(products_.data(), squares_.data(), job_.queries.squares[query],
                                    keys.size(), keys.data());
            }
        }
        for (std::size_t i = 0; i < keys.size(); ++i)
            keys[i] = key_of_sum<Key>(job_.metric, totals_[i], 0, 0);
    }

    const ranking_job<Key>& job_;
    std::vector<const std::byte*> rows_;
    std::vector<double> squares_, products_;
    std::vector<std::uint32_t> sums_;
    std::vector<std::int64_t> totals_;
    cpu_array<float> wide_;
    std::size_t wide_stride_ = 0;  // 0: rows are read in place
};

std::size_t rows_of_panel(const row_tile<cpu_place>& tile, std::size_t queries) {
    if (queries < widened_from) return 64;
    const std::size_t bytes =
        is_float(tile.type) ? 4 * std::size_t{tile.dimensions} : bytes_of_row(tile.type, tile.dimensions);
    return std::clamp<std::size_t>(panel_bytes / bytes / 16 * 16, 16, 512);
}

}  // namespace

template <class Key>
void distance_keys(cpu_place& place, const row_tile<cpu_place>& tile, const row_tile<cpu_place>& queries,
                   vector_metric metric, std::span<const std::uint32_t> rows, std::span<Key> keys) {
    const std::size_t count = rows.empty() ? tile.rows : rows.size();
    if (count == 0 || queries.rows == 0) return;
    if (tile.type == vector_type::f64) return double_keys(place, tile, queries, metric, rows, keys);
    const lanes_of lanes = lanes_for(tile, queries, metric, sizeof(Key) == 8);
    const ready_queries ready = make_ready(place, queries, lanes);
    const std::size_t each = rows_of_panel(tile, queries.rows), panels = (count + each - 1) / each;
    const ranking_job<Key> job{.tile = tile,
                               .queries = queries,
                               .metric = metric,
                               .lanes = lanes,
                               .rows = rows,
                               .count = count,
                               .panel_rows = each,
                               .ready = ready,
                               .keys = keys};
    // If there are too few rows for all threads, queries are split too.
    const std::size_t row_pieces = pieces_for(place, panels, 1, 16);
    const std::size_t query_pieces =
        row_pieces >= 4 * std::size_t{place.threads()} ? 1 : pieces_for(place, queries.rows, 64);
    for_each_piece(place, row_pieces * query_pieces, [&](std::size_t p) {
        const auto [first, last] = piece_of(panels, row_pieces, p / query_pieces);
        const auto [query, query_end] = piece_of(queries.rows, query_pieces, p % query_pieces);
        panel<Key> work(place, job);
        for (std::size_t i = first; i < last; ++i) {
            place.ctx().check_stop();
            work.rank(i * each, std::min(each, count - i * each), query, query_end - query);
        }
    });
}

template void distance_keys(cpu_place&, const row_tile<cpu_place>&, const row_tile<cpu_place>&, vector_metric,
                            std::span<const std::uint32_t>, std::span<std::uint32_t>);
template void distance_keys(cpu_place&, const row_tile<cpu_place>&, const row_tile<cpu_place>&, vector_metric,
                            std::span<const std::uint32_t>, std::span<std::uint64_t>);

}  // namespace quern::nearest_detail
