// SPDX-License-Identifier: Apache-2.0
// Rows that do not start at 16-byte words (100 floats of 16 bits, 3 of 32, 25 bytes …). The tile is copied through shared
// memory as flat bytes, whole words at a time and far ahead of their use. The start of rows matters only there, where every
// component can be read separately.
#include <cuda_pipeline.h>

#include <algorithm>

#include "ops/nearest/distance/distance_cuda.cuh"

namespace quern::nearest_detail {
namespace {

constexpr unsigned block_threads = 256, stages = 3;
constexpr std::uint32_t word_bytes = 16;

/// How a tile is cut: pieces of a number of rows (a multiple of 16, so that all have the same alignment), in stages of
/// shared memory.
struct cut_tile {
    std::uint32_t rows, row_bytes, piece_rows, stage_bytes;
    const std::byte* values;

    __device__ std::uint32_t rows_of(std::uint32_t piece) const {
        return min(piece_rows, rows - piece * piece_rows);
    }
};

/// Starts the copy of a piece to a stage. The piece's first byte is `head` bytes into it, the same offset as in its word of
/// device memory; words that the piece shares are copied byte by byte.
__device__ void copy_piece(const cut_tile& tile, std::uint32_t piece, unsigned head, std::byte* stage) {
    const std::byte* const from =
        tile.values + std::uint64_t{piece} * tile.piece_rows * tile.row_bytes - head;
    const std::uint32_t end = head + tile.rows_of(piece) * tile.row_bytes;
    for (std::uint32_t at = threadIdx.x * word_bytes; at < end; at += block_threads * word_bytes) {
        if (at >= head && at + word_bytes <= end) {
            __pipeline_memcpy_async(stage + at, from + at, word_bytes);
        } else {
            for (std::uint32_t i = max(at, head); i < min(at + word_bytes, end); ++i) stage[i] = from[i];
        }
    }
}

/// One thread per row of few components: the same tree, mostly of zeros.
template <class Traits, class Write>
__device__ void sum_short_rows(const std::byte* stage, const stored_t<Traits::type>* query,
                               std::uint32_t rows, std::uint32_t row_bytes, std::uint32_t count,
                               const Write& write) {
    using sum_type = typename Traits::sum;
    for (std::uint32_t row = threadIdx.x; row < rows; row += block_threads) {
        const auto* const values = row_at<Traits::type>(stage, row_bytes, row);
        sum_type sums[partial_sums];
#pragma unroll
        for (unsigned i = 0; i < partial_sums; ++i) {
            sums[i] = 0;
            if (i < count)
                sums[i] = with_part<Traits::kind>(sums[i], loaded_value<Traits::type>(values[i]),
                                                  loaded_value<Traits::type>(query[i]));
        }
        tree_of_array<Traits::kind, partial_sums>(sums);
        write(row, sums[0]);
    }
}

/// Sixteen lanes per row, one partial sum each; several rows in parallel, which share the reads of the query.
template <class Traits, class Write>
__device__ void sum_rows(const std::byte* stage, const stored_t<Traits::type>* query, std::uint32_t rows,
                         std::uint32_t row_bytes, std::uint32_t count, const Write& write) {
    using sum_type = typename Traits::sum;
    constexpr unsigned side_by_side = 4, warp_rows = 32 / partial_sums;
    const unsigned chain = threadIdx.x % partial_sums, half = threadIdx.x % 32 / partial_sums;
    for (std::uint32_t first = threadIdx.x / 32 * warp_rows * side_by_side; first < rows;
         first += block_threads / 32 * warp_rows * side_by_side) {
        const stored_t<Traits::type>* values[side_by_side];
        sum_type sums[side_by_side] = {};
#pragma unroll
        for (unsigned r = 0; r < side_by_side; ++r)
            values[r] = row_at<Traits::type>(stage, row_bytes, min(first + r * warp_rows + half, rows - 1));
#pragma unroll 4
        for (std::uint32_t i = chain; i < count; i += partial_sums) {
            const auto b = loaded_value<Traits::type>(query[i]);
#pragma unroll
            for (unsigned r = 0; r < side_by_side; ++r)
                sums[r] = with_part<Traits::kind>(sums[r], loaded_value<Traits::type>(values[r][i]), b);
        }
#pragma unroll
        for (unsigned r = 0; r < side_by_side; ++r) {
            const std::uint32_t row = first + r * warp_rows + half;
            const sum_type sum = tree_of_lanes<Traits::kind>(sums[r]);
            if (chain == 0 && row < rows) write(row, sum);
        }
    }
}

/// Blocks take pieces in turn, one being used while the next ones arrive. Shared memory: the stages, then the query.
template <class Traits, class Key>
__global__ void __launch_bounds__(block_threads)
    scan_bytes_kernel(cut_tile tile, const std::byte* query, std::uint32_t query_row, std::uint32_t count,
                      key_maker<Key> key_of, Key* keys) {
    using sum_type = typename Traits::sum;
    extern __shared__ uint4 shared_words[];
    auto* const shared = reinterpret_cast<std::byte*>(shared_words);
    std::byte* const query_bytes = shared + stages * tile.stage_bytes;
    for (std::uint32_t i = threadIdx.x; i < tile.row_bytes; i += block_threads) query_bytes[i] = query[i];
    const auto* const here = row_at<Traits::type>(query_bytes, 0, 0);

    const auto head = static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(tile.values) % word_bytes);
    const std::uint32_t pieces = (tile.rows - 1) / tile.piece_rows + 1;
    std::uint32_t next = blockIdx.x;
    unsigned next_stage = 0;
    const auto copy_next = [&] {
        if (next < pieces) copy_piece(tile, next, head, shared + next_stage * tile.stage_bytes);
        __pipeline_commit();
        next += gridDim.x;
        next_stage = (next_stage + 1) % stages;
    };
    for (unsigned s = 0; s + 1 < stages; ++s) copy_next();
    unsigned stage = 0;
    for (std::uint32_t piece = blockIdx.x; piece < pieces; piece += gridDim.x) {
        copy_next();
        __pipeline_wait_prior(stages - 1);
        __syncthreads();
        const std::byte* const values = shared + stage * tile.stage_bytes + head;
        const std::uint32_t first = piece * tile.piece_rows, rows = tile.rows_of(piece);
        const auto write = [&](std::uint32_t row, sum_type sum) {
            keys[first + row] = key_of(sum, query_row, first + row);
        };
        if (count <= partial_sums)
            sum_short_rows<Traits>(values, here, rows, tile.row_bytes, count, write);
        else
            sum_rows<Traits>(values, here, rows, tile.row_bytes, count, write);
        stage = (stage + 1) % stages;
        __syncthreads();
    }
}

}  // namespace

template <class Key>
bool scan_bytes(cuda_place& place, const row_tile<cuda_place>& tile, const row_tile<cuda_place>& queries,
                vector_metric metric, Key* keys) {
    if (tile.rows == 0) return true;
    cut_tile cut{.rows = tile.rows,
                 .row_bytes = static_cast<std::uint32_t>(tile.stride),
                 .piece_rows = 0,
                 .stage_bytes = 0,
                 .values = tile.values.data()};
    cut.piece_rows = std::max(16u, 16384 / cut.row_bytes / 16 * 16);
    cut.stage_bytes = cut.piece_rows * cut.row_bytes + word_bytes;
    const std::size_t shared_bytes = std::size_t{stages} * cut.stage_bytes + cut.row_bytes;
    if (shared_bytes > place.abilities().dynamic_shared(0)) return false;
    return with_common_traits<Key>(tile.type, metric, tile.dimensions, [&]<class Traits>(Traits) {
        const auto kernel = scan_bytes_kernel<Traits, Key>;
        place.make_current();  // the attribute is the current device's
        QUERN_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                         static_cast<int>(shared_bytes)));
        const unsigned blocks =
            std::min(cuda::blocks_for(tile.rows, cut.piece_rows), 4 * place.multiprocessors());
        for (std::uint32_t q = 0; q < queries.rows; ++q)
            QUERN_LAUNCH(place, (cuda::launch_shape{blocks, block_threads, shared_bytes}), kernel, cut,
                         queries.values.data() + q * queries.stride, q, summed_items(tile, metric),
                         (key_maker<Key>{metric, tile.squares.data(), queries.squares.data()}),
                         keys + std::uint64_t{q} * tile.rows);
    });
}
template bool scan_bytes(cuda_place&, const row_tile<cuda_place>&, const row_tile<cuda_place>&, vector_metric,
                         std::uint32_t*);
template bool scan_bytes(cuda_place&, const row_tile<cuda_place>&, const row_tile<cuda_place>&, vector_metric,
                         std::uint64_t*);

}  // namespace quern::nearest_detail
