// SPDX-License-Identifier: Apache-2.0
// The two kernels that add floats as printed in their papers, in Value, on the CPU: brc's and brcp's. A block is the work
// of a warp; threads take blocks and add to y atomically, so with several threads the order of the additions to one row is
// free, as on a GPU. With one thread, blocks and lanes follow each other.
#include <algorithm>
#include <atomic>

#include "device/cpu/parallel.hpp"
#include "primitives/sparse/multiply.hpp"
#include "primitives/sparse/vectors.hpp"

namespace quern::primitives {
namespace {

constexpr std::size_t lanes = 32;

template <floating_value Value>
void add_atomically(Value& to, Value amount) {
    std::atomic_ref<Value>(to).fetch_add(amount, std::memory_order_relaxed);
}

/// sums[l]: the sum of lane l, starting from +0, in order.
template <floating_value Value>
void sum_lanes(const std::uint32_t* column, const Value* value, std::uint64_t width, std::span<const Value> x,
               Value* sums) {
    std::fill_n(sums, lanes, Value(0));
    for (std::uint64_t k = 0; k < width; ++k) {
        for (std::size_t l = 0; l < lanes; ++l) {
            const std::uint32_t at = column[k * lanes + l];
            if (at != no_index) sums[l] += value[k * lanes + l] * x[at];
        }
    }
}

template <class Work>
void for_each_block(cpu_place& place, std::size_t blocks, const Work& work) {
    const std::size_t pieces = pieces_for(place, blocks, 64, 16);
    for_each_piece(place, pieces, [&](std::size_t p) {
        place.ctx().check_stop();
        const auto [begin, end] = piece_of(blocks, pieces, p);
        for (std::size_t b = begin; b < end; ++b) work(b);
    });
}

}  // namespace

template <floating_value Value>
void multiply(cpu_place& place, const brc_matrix<cpu_place, Value>& matrix, std::span<const Value> x,
              std::span<Value> y) {
    sparse_detail::check_vectors<Value>(matrix, x, y);
    sparse_detail::fill_zero(place, y);
    for_each_block(place, matrix.block_begin.size(), [&](std::size_t b) {
        Value sums[lanes];
        const std::uint64_t begin = matrix.block_begin.data()[b];
        sum_lanes(matrix.column.data() + begin, matrix.value.data() + begin, matrix.nz_per_block.data()[b], x,
                  sums);
        for (std::size_t l = 0; l < lanes; ++l) {
            const std::uint32_t row = matrix.row_perm.data()[b * lanes + l];
            if (row != no_index) add_atomically(y[row], sums[l]);
        }
    });
}

template <floating_value Value>
void multiply_as_printed(cpu_place& place, const brcp_matrix<cpu_place, Value>& matrix,
                         std::span<const Value> x, std::span<Value> y) {
    sparse_detail::check_vectors<Value>(matrix, x, y);
    sparse_detail::fill_zero(place, y);
    for_each_block(place, matrix.block_ptr.size() - 1, [&](std::size_t b) {
        Value own[lanes], prefix[lanes];
        const std::uint64_t begin = matrix.block_ptr.data()[b];
        sum_lanes(matrix.column.data() + begin, matrix.value.data() + begin,
                  (matrix.block_ptr.data()[b + 1] - begin) / lanes, x, own);
        std::copy_n(own, lanes, prefix);
        for (std::size_t offset = 1; offset < lanes; offset *= 2)  // the shuffles of algorithm 3
            for (std::size_t l = lanes; l-- > offset;) prefix[l] += prefix[l - offset];
        for (std::size_t l = 0; l < lanes; ++l) {
            const std::uint32_t length = matrix.row_seg_len.data()[b * lanes + l];
            if (length == 0) continue;
            add_atomically(y[matrix.row_perm.data()[b * lanes + l]],
                           own[l] + prefix[l + length - 1] - prefix[l]);
        }
    });
}

template void multiply(cpu_place&, const brc_matrix<cpu_place, float>&, std::span<const float>,
                       std::span<float>);
template void multiply(cpu_place&, const brc_matrix<cpu_place, double>&, std::span<const double>,
                       std::span<double>);
template void multiply_as_printed(cpu_place&, const brcp_matrix<cpu_place, float>&, std::span<const float>,
                                  std::span<float>);
template void multiply_as_printed(cpu_place&, const brcp_matrix<cpu_place, double>&, std::span<const double>,
                                  std::span<double>);

}  // namespace quern::primitives
