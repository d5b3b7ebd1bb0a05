// SPDX-License-Identifier: Apache-2.0
// Rows to brc (Ashari et al. 2014) and brcp (Yang et al. 2019, algorithm 1). One thread decides the layout, a step for each
// block and lane, twice: once to count, once to write; then threads fill the blocks.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "device/cpu/parallel.hpp"
#include "primitives/sort/sort.hpp"
#include "primitives/sparse/formats_impl.hpp"

namespace quern::primitives {
namespace {

constexpr std::uint32_t lanes = 32;
__extension__ using wide = unsigned __int128;

/// Non-empty rows, by descending length, then ascending index; and T.
struct ordered_rows {
    cpu_array<std::uint32_t> order;
    std::size_t count = 0;
    std::uint64_t max = 1;  ///< T
    std::span<const std::uint64_t> offsets;

    std::uint32_t row(std::size_t i) const { return order.data()[i]; }
    std::uint64_t length(std::size_t i) const { return offsets[row(i) + 1] - offsets[row(i)]; }
};

/// max(1, round(μ + σ)). The sums are integers, so that σ is the same everywhere.
std::uint64_t usual_length(std::span<const std::uint64_t> offsets) {
    const std::size_t rows = segments_in(offsets.size());
    if (rows == 0) return 1;
    wide squares = 0;
    for (std::size_t i = 0; i < rows; ++i) {
        const std::uint64_t length = offsets[i + 1] - offsets[i];
        squares += wide{length} * length;
    }
    const std::uint64_t entries = offsets[rows];
    const auto n = static_cast<double>(rows);
    const double mean = static_cast<double>(entries) / n;
    const double deviation = std::sqrt(static_cast<double>(squares * rows - wide{entries} * entries)) / n;
    return static_cast<std::uint64_t>(std::max(1.0, std::floor(mean + deviation + 0.5)));
}

ordered_rows rows_by_length(cpu_place& place, std::span<const std::uint64_t> offsets) {
    const std::size_t rows = segments_in(offsets.size());
    ordered_rows result;
    result.offsets = offsets;
    result.max = usual_length(offsets);
    result.order = make_array<std::uint32_t>(place, rows, "rows by length");
    for (std::size_t i = 0; i < rows; ++i) result.order.data()[i] = static_cast<std::uint32_t>(i);
    const auto sort = [&]<class Key>(Key /*type*/, unsigned bits) {
        const auto lengths = make_array<Key>(place, rows, "lengths of rows");
        for (std::size_t i = 0; i < rows; ++i)
            lengths.data()[i] = static_cast<Key>(offsets[i + 1] - offsets[i]);
        sort_pairs(place, lengths.span(), result.order.span(), {order::descending, bits});
    };
    const std::uint64_t longest = sparse_detail::longest_row(place, offsets);
    const auto bits = static_cast<unsigned>(std::bit_width(longest));
    if (bits <= 32)
        sort(std::uint32_t{}, std::max(1u, bits));
    else
        sort(std::uint64_t{}, bits);
    const auto begin = result.order.data();
    result.count = static_cast<std::size_t>(
        std::partition_point(begin, begin + rows,
                             [&](std::uint32_t i) { return offsets[i + 1] != offsets[i]; }) -
        begin);
    return result;
}

/// A block when it opens: its first row by position, how many of that row's entries precede it, and V.
struct opened_block {
    std::size_t first;
    std::uint64_t taken, width;
};

/// brc's blocks: round r takes entries r·T … (r + 1)·T of every row that has so many, 32 rows per block.
template <class Visit>
void visit_brc(const ordered_rows& rows, Visit&& visit) {
    const std::uint64_t max = std::min<std::uint64_t>(rows.max, no_index);  // nz_per_block has 32 bits
    std::size_t left = rows.count;
    for (std::uint64_t taken = 0; left != 0; taken += max) {
        while (left != 0 && rows.length(left - 1) <= taken) --left;
        for (std::size_t i = 0; i < left; i += lanes)
            visit(opened_block{i, taken, std::min(max, rows.length(i) - taken)}, std::min(left, i + lanes));
    }
}

/// brcp's blocks: visit(block), and lane(position of its row) for each of its lanes with a row.
template <class Visit, class Lane>
void visit_brcp(const ordered_rows& rows, Visit&& visit, Lane&& lane) {
    std::uint64_t taken = 0;
    for (std::size_t i = 0; i < rows.count;) {
        const std::uint64_t length = rows.length(i), next = i + 1 < rows.count ? rows.length(i + 1) : 0;
        const std::uint64_t width = length / lanes / 2 >= rows.max && length > 2 * lanes * rows.max
                                        ? (length + 2 * lanes - 1) / (2 * lanes)
                                        : std::min(rows.max, std::max(length - taken, next));
        visit(opened_block{i, taken, width});
        for (std::uint32_t l = 0; l < lanes && i < rows.count; ++l) {
            lane(l, i);
            taken += width;
            if (taken < rows.length(i)) continue;
            taken = 0;
            ++i;
        }
    }
}

/// Writes a lane: `width` slots, 32 apart, from the entries [from, end) of the matrix, which may be fewer.
template <floating_value Value>
void fill_lane(const csr_view<Value>& matrix, std::uint64_t from, std::uint64_t end, std::uint64_t width,
               std::uint32_t* column, Value* value) {
    const std::uint64_t present = from < end ? std::min(width, end - from) : 0;
    for (std::uint64_t k = 0; k < present; ++k) {
        column[k * lanes] = matrix.column[from + k];
        value[k * lanes] = matrix.value[from + k];
    }
    for (std::uint64_t k = present; k < width; ++k) {
        column[k * lanes] = no_index;
        value[k * lanes] = Value(0);
    }
}

/// fill(block) for all blocks; threads take pieces with equal numbers of slots.
template <class Fill>
void fill_blocks(cpu_place& place, std::size_t blocks, const Fill& fill) {
    const std::size_t pieces = pieces_for(place, blocks, 64, 16);
    for_each_piece(place, pieces, [&](std::size_t p) {
        const auto [begin, end] = piece_of(blocks, pieces, p);
        for (std::size_t b = begin; b < end; ++b) {
            place.ctx().check_stop();
            fill(b);
        }
    });
}

}  // namespace

template <floating_value Value>
brc_matrix<cpu_place, Value> to_brc(cpu_place& place, const csr_view<Value>& matrix) {
    sparse_detail::check(place, matrix);
    const ordered_rows rows = rows_by_length(place, matrix.offsets);
    std::size_t blocks = 0, slots = 0;
    visit_brc(rows, [&](const opened_block& block, std::size_t) {
        ++blocks;
        slots += block.width * lanes;
    });
    brc_matrix<cpu_place, Value> result{matrix.rows, matrix.columns, matrix.column.size(), {}, {}, {}, {},
                                        {}};
    result.block_begin = make_array<std::uint64_t>(place, blocks, "blocks of a sparse matrix");
    result.nz_per_block = make_array<std::uint32_t>(place, blocks, "blocks of a sparse matrix");
    result.row_perm = make_array<std::uint32_t>(place, blocks * lanes, "lanes of a sparse matrix");
    result.column = make_array<std::uint32_t>(place, slots, "columns of a sparse matrix");
    result.value = make_array<Value>(place, slots, "values of a sparse matrix");
    const auto taken = make_array<std::uint64_t>(place, blocks, "where blocks of a sparse matrix begin");
    std::size_t b = 0, begin = 0;
    visit_brc(rows, [&](const opened_block& block, std::size_t end) {
        result.block_begin.data()[b] = begin;
        result.nz_per_block.data()[b] = static_cast<std::uint32_t>(block.width);
        taken.data()[b] = block.taken;
        for (std::uint32_t l = 0; l < lanes; ++l)
            result.row_perm.data()[b * lanes + l] =
                block.first + l < end ? rows.row(block.first + l) : no_index;
        begin += block.width * lanes;
        ++b;
    });
    fill_blocks(place, blocks, [&](std::size_t block) {
        const std::uint64_t at = result.block_begin.data()[block];
        for (std::uint32_t l = 0; l < lanes; ++l) {
            const std::uint32_t row = result.row_perm.data()[block * lanes + l];
            const std::uint64_t from = row == no_index ? 0 : matrix.offsets[row] + taken.data()[block];
            fill_lane(matrix, from, row == no_index ? 0 : matrix.offsets[row + 1],
                      result.nz_per_block.data()[block], result.column.data() + at + l,
                      result.value.data() + at + l);
        }
    });
    return result;
}

template <floating_value Value>
brcp_matrix<cpu_place, Value> to_brcp(cpu_place& place, const csr_view<Value>& matrix) {
    sparse_detail::check(place, matrix);
    const ordered_rows rows = rows_by_length(place, matrix.offsets);
    std::size_t blocks = 0, slots = 0, splits = 0, split_before = rows.count;
    visit_brcp(
        rows,
        [&](const opened_block& block) {
            ++blocks;
            slots += block.width * lanes;
            if (block.taken != 0 && block.first != split_before) {
                ++splits;
                split_before = block.first;
            }
        },
        [](std::uint32_t, std::size_t) {});
    brcp_matrix<cpu_place, Value> result{
        matrix.rows, matrix.columns, matrix.column.size(), {}, {}, {}, {}, {}, {}, {}, {}};
    result.block_ptr = make_array<std::uint64_t>(place, blocks + 1, "blocks of a sparse matrix");
    result.row_perm = make_array<std::uint32_t>(place, blocks * lanes, "lanes of a sparse matrix");
    result.row_seg_len = make_array<std::uint32_t>(place, blocks * lanes, "lanes of a sparse matrix");
    result.column = make_array<std::uint32_t>(place, slots, "columns of a sparse matrix");
    result.value = make_array<Value>(place, slots, "values of a sparse matrix");
    result.split_row = make_array<std::uint32_t>(place, splits, "split rows of a sparse matrix");
    result.split_first = make_array<std::uint32_t>(place, splits, "split rows of a sparse matrix");
    result.split_last = make_array<std::uint32_t>(place, splits, "split rows of a sparse matrix");

    const auto taken = make_array<std::uint64_t>(place, blocks, "where blocks of a sparse matrix begin");
    std::fill_n(result.row_perm.data(), blocks * lanes, no_index);
    std::size_t b = 0, begin = 0, split = 0;
    visit_brcp(
        rows,
        [&](const opened_block& block) {
            result.block_ptr.data()[b] = begin;
            taken.data()[b] = block.taken;
            begin += block.width * lanes;
            if (block.taken != 0) {
                const std::uint32_t row = rows.row(block.first);
                if (split == 0 || result.split_row.data()[split - 1] != row) {
                    result.split_row.data()[split] = row;
                    result.split_first.data()[split++] = static_cast<std::uint32_t>(b - 1);
                }
                result.split_last.data()[split - 1] = static_cast<std::uint32_t>(b);
            }
            ++b;
        },
        [&](std::uint32_t l, std::size_t i) { result.row_perm.data()[(b - 1) * lanes + l] = rows.row(i); });
    result.block_ptr.data()[blocks] = begin;
    fill_blocks(place, blocks, [&](std::size_t block) {
        const std::uint64_t at = result.block_ptr.data()[block];
        const std::uint64_t width = (result.block_ptr.data()[block + 1] - at) / lanes;
        const std::uint32_t* const perm = result.row_perm.data() + block * lanes;
        std::uint32_t* const seg_len = result.row_seg_len.data() + block * lanes;
        std::uint64_t before = taken.data()[block];
        std::uint32_t head = 0;
        for (std::uint32_t l = 0; l < lanes; ++l) {
            const std::uint32_t row = perm[l];
            seg_len[l] = 0;
            if (l != 0 && row != perm[l - 1]) {
                head = l;
                before = 0;
            }
            if (row != no_index) ++seg_len[head];
            const std::uint64_t from = row == no_index ? 0 : matrix.offsets[row] + before;
            fill_lane(matrix, from, row == no_index ? 0 : matrix.offsets[row + 1], width,
                      result.column.data() + at + l, result.value.data() + at + l);
            before += width;
        }
    });
    return result;
}

template <floating_value Value>
std::uint64_t brcp_slots(cpu_place& place, const csr_view<Value>& matrix) {
    sparse_detail::check(place, matrix);
    std::uint64_t slots = 0;
    visit_brcp(
        rows_by_length(place, matrix.offsets),
        [&](const opened_block& block) { slots += block.width * lanes; }, [](std::uint32_t, std::size_t) {});
    return slots;
}

template std::uint64_t brcp_slots(cpu_place& place, const csr_view<float>& matrix);
template std::uint64_t brcp_slots(cpu_place& place, const csr_view<double>& matrix);
template brc_matrix<cpu_place, float> to_brc(cpu_place& place, const csr_view<float>& matrix);
template brc_matrix<cpu_place, double> to_brc(cpu_place& place, const csr_view<double>& matrix);
template brcp_matrix<cpu_place, float> to_brcp(cpu_place& place, const csr_view<float>& matrix);
template brcp_matrix<cpu_place, double> to_brcp(cpu_place& place, const csr_view<double>& matrix);

}  // namespace quern::primitives
