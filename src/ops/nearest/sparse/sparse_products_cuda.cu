// SPDX-License-Identifier: Apache-2.0
// Products of sparse rows on a GPU: Σ a·b has a part only if both rows have the column.
// - A few queries: each is expanded to a dense vector, and rows look their columns up in it, at memory speed.
// - Many: 64 queries at a time share a table of the columns that any of them has, with a line of their 64 values for each.
//   A warp takes a row, every lane two queries, and one read of the row serves all 64.
//
// The order of parts is that of the row's columns, which is the canonical one.
#include <algorithm>

#include "ops/nearest/sparse/sparse_cuda.cuh"

namespace quern::nearest_detail {
namespace {

constexpr unsigned block_threads = 256;
constexpr unsigned warps = block_threads / 32;
constexpr unsigned all_lanes = ~0u;

// ---- One query at a time ----

/// One thread per entry of the query. `dense` is zero before.
__global__ void lay_out_query_kernel(sparse_pairs pairs, std::uint32_t query, float* dense) {
    const sparse_row own = pairs.queries[query];
    const std::uint64_t step = std::uint64_t{gridDim.x} * blockDim.x;
    for (std::uint64_t e = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; e < own.size; e += step)
        dense[own.columns[e]] = own.values[e];
}

/// Adds the parts of 32 entries, one in each lane, in the order of the lanes: lane c < 16 holds partial sum c. A part that
/// is zero changes no bit of a sum.
__device__ void add_in_order(float& sum, std::uint32_t column, float part) {
    for (unsigned left = __ballot_sync(all_lanes, part != 0); left != 0; left &= left - 1) {
        const int next = __ffs(static_cast<int>(left)) - 1;
        const std::uint32_t of = __shfl_sync(all_lanes, column, next);
        const float one = __shfl_sync(all_lanes, part, next);
        if (of % partial_sums == threadIdx.x % 32) sum += one;
    }
}

constexpr unsigned scan_threads = 512;
constexpr unsigned scan_warps = scan_threads / 32;
constexpr unsigned rows_of_turn = 8;         // per warp
constexpr unsigned filter_words = 1u << 13;  // 2^18 bits

/// Two entries of a lane; none: column 0, value 0.
struct two_entries {
    std::uint32_t column[2];
    float value[2];
};

/// A warp takes eight rows in turn, 64 entries at a time, and prefetches the next 64 before it adds. Few columns are the
/// query's: a filter of 32 KB in shared memory, one bit for each column's number modulo 2^18, avoids most look-ups in
/// `dense`, which is at best in the second-level cache. Any grid.
__global__ void __launch_bounds__(scan_threads, 4)
    scan_rows_kernel(sparse_pairs pairs, std::uint32_t query, const float* __restrict__ dense) {
    __shared__ std::uint32_t filter[filter_words];
    for (unsigned w = threadIdx.x; w < filter_words; w += scan_threads) filter[w] = 0;
    __syncthreads();
    const sparse_row requested = pairs.queries[query];
    for (std::uint64_t e = threadIdx.x; e < requested.size; e += scan_threads)
        atomicOr(&filter[requested.columns[e] / 32 % filter_words], 1u << requested.columns[e] % 32);
    __syncthreads();

    const unsigned lane = threadIdx.x % 32;
    const std::uint64_t step = std::uint64_t{gridDim.x} * scan_warps * rows_of_turn;
    for (std::uint64_t turn = (std::uint64_t{blockIdx.x} * scan_warps + threadIdx.x / 32) * rows_of_turn;
         turn < pairs.n; turn += step) {
        const auto count = static_cast<unsigned>(min(std::uint64_t{rows_of_turn}, pairs.n - turn));
        std::uint64_t id = 0, own_begin = 0, own_size = 0;  // of lane r, of row r of the turn
        if (lane < count) {
            id = pairs.row_at(turn + lane);
            const std::uint64_t* const offset = pairs.rows.offsets + id;
            own_begin = offset[0] - pairs.rows.offsets[0];
            own_size = offset[1] - offset[0];
        }
        unsigned r = 0;
        std::uint64_t begin = __shfl_sync(all_lanes, own_begin, 0),
                      left = __shfl_sync(all_lanes, own_size, 0);
        const auto load = [&](std::uint64_t from, std::uint64_t size) {
            two_entries next{};
#pragma unroll
            for (unsigned k = 0; k < 2; ++k) {
                if (k * 32 + lane >= size) continue;
                next.column[k] = __ldg(pairs.rows.columns + from + k * 32 + lane);
                next.value[k] = __ldg(pairs.rows.values + from + k * 32 + lane);
            }
            return next;
        };
        two_entries next = load(begin, left);
        float sum = 0, own_sum = 0;
        while (r < count) {
            const two_entries now = next;
            const unsigned row = r;
            const bool ends = left <= 64;
            if (ends) {
                ++r;
                begin = __shfl_sync(all_lanes, own_begin, r);  // lanes past the last row have none
                left = __shfl_sync(all_lanes, own_size, r);
            } else {
                begin += 64;
                left -= 64;
            }
            next = load(begin, left);
#pragma unroll
            for (unsigned k = 0; k < 2; ++k) {
                const std::uint32_t column = now.column[k];
                const bool maybe = (filter[column / 32 % filter_words] >> column % 32 & 1) != 0;
                add_in_order(sum, column, maybe ? now.value[k] * dense[column] : 0.0f);
            }
            if (!ends) continue;
            for (unsigned half = partial_sums / 2; half != 0; half /= 2)
                sum += __shfl_down_sync(all_lanes, sum, half, partial_sums);
            const float whole = __shfl_sync(all_lanes, sum, 0);
            if (lane == row) own_sum = whole;
            sum = 0;
        }
        if (lane < count) pairs.keys[query * pairs.n + turn + lane] = pairs.key(own_sum, id, query);
    }
}

void scan_rows(cuda_place& place, const sparse_pairs& pairs) {
    const cuda_array<float> dense(place, pairs.dimensions, "a sparse query, laid out");
    const unsigned blocks = std::min(cuda::blocks_for(pairs.n, std::size_t{scan_warps} * rows_of_turn),
                                     4 * place.multiprocessors());
    for (std::uint32_t q = 0; q < pairs.query_count; ++q) {
        place.fill_bytes(dense.data(), 0, dense.span().size_bytes());
        QUERN_LAUNCH(place, (cuda::launch_shape{place.multiprocessors(), block_threads}),
                     lay_out_query_kernel, pairs, q, dense.data());
        QUERN_LAUNCH(place, (cuda::launch_shape{blocks, scan_threads}), scan_rows_kernel, pairs, q,
                     dense.data());
    }
}

// ---- 64 queries at a time ----

constexpr unsigned group_queries = 64;

/// The columns, among 32, that a query of the group has, and the number of such columns before them.
struct column_word {
    std::uint32_t present, before;
    __device__ bool has(std::uint32_t column) const { return (present >> column % 32 & 1) != 0; }
    __device__ std::uint32_t slot(std::uint32_t column) const {
        return before + static_cast<std::uint32_t>(__popc(present & ((1u << column % 32) - 1)));
    }
};

/// Tables of the groups of one round. A group's lines are in one array for all rounds, from the number of entries of the
/// queries before it.
struct query_tables {
    column_word* words;  ///< [group of the round · words_of_group + column / 32]
    std::uint64_t words_of_group;
    float* lines;               ///< [slot · 64 + query of the group]
    std::uint32_t first_query;  ///< of the round

    __device__ column_word* words_of(std::uint32_t group) const { return words + group * words_of_group; }
    __device__ float* lines_of(const sparse_pairs& pairs, std::uint32_t group) const {
        const std::uint64_t* const offsets = pairs.queries.offsets;
        return lines + (offsets[first_query + group * group_queries] - offsets[0]) * group_queries;
    }
};

/// One warp per query: work(group, query of the group, column, value) for every entry.
template <class Work>
__device__ void for_each_query_entry(const sparse_pairs& pairs, const query_tables& tables,
                                     const Work& work) {
    const std::uint32_t of_round = (blockIdx.x * block_threads + threadIdx.x) / 32;
    if (of_round >= pairs.query_count - tables.first_query) return;
    const sparse_row own = pairs.queries[tables.first_query + of_round];
    for (std::uint64_t e = threadIdx.x % 32; e < own.size; e += 32)
        work(of_round / group_queries, of_round % group_queries, own.columns[e], own.values[e]);
}

__global__ void __launch_bounds__(block_threads)
    mark_columns_kernel(sparse_pairs pairs, query_tables tables) {
    for_each_query_entry(pairs, tables, [&](std::uint32_t group, std::uint32_t, std::uint32_t column, float) {
        atomicOr(&tables.words_of(group)[column / 32].present, 1u << column % 32);
    });
}

constexpr unsigned count_threads = 1'024;
static_assert(count_threads == 32 * 32, "a warp's totals are summed by one warp");

/// The prefix sum over the lanes up to this one.
__device__ std::uint32_t sum_up_to_lane(std::uint32_t own) {
    for (unsigned step = 1; step < 32; step *= 2) {
        const std::uint32_t before = __shfl_up_sync(all_lanes, own, step);
        if (threadIdx.x % 32 >= step) own += before;
    }
    return own;
}

/// One block per group: 1,024 words at a time. 128 bytes of shared memory.
__global__ void __launch_bounds__(count_threads) count_columns_kernel(query_tables tables) {
    __shared__ std::uint32_t up_to_warp[32];
    const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    column_word* const words = tables.words_of(blockIdx.x);
    std::uint32_t before = 0;
    for (std::uint64_t first = 0; first < tables.words_of_group; first += count_threads) {
        const std::uint64_t w = first + threadIdx.x;
        const bool here = w < tables.words_of_group;
        const auto own = here ? static_cast<std::uint32_t>(__popc(words[w].present)) : 0u;
        const std::uint32_t up_to_here = sum_up_to_lane(own);
        if (lane == 31) up_to_warp[warp] = up_to_here;
        __syncthreads();
        if (warp == 0) up_to_warp[lane] = sum_up_to_lane(up_to_warp[lane]);
        __syncthreads();
        if (here) words[w].before = before + (warp == 0 ? 0 : up_to_warp[warp - 1]) + up_to_here - own;
        before += up_to_warp[31];
        __syncthreads();  // the totals are overwritten next
    }
}

__global__ void __launch_bounds__(block_threads) fill_lines_kernel(sparse_pairs pairs, query_tables tables) {
    for_each_query_entry(
        pairs, tables, [&](std::uint32_t group, std::uint32_t query, std::uint32_t column, float value) {
            const std::uint32_t slot = tables.words_of(group)[column / 32].slot(column);
            tables.lines_of(pairs, group)[std::uint64_t{slot} * group_queries + query] = value;
        });
}

constexpr unsigned rows_of_warp = 4;
constexpr unsigned rows_of_block = warps * rows_of_warp;
constexpr unsigned at_once = 4;  // lines requested before the first is used

/// Adds the parts of 32 entries, one in each lane with `hit`, to two queries of every lane. sums[c · 32] is partial sum c.
__device__ void add_lines(float2* sums, const float2* __restrict__ lines, bool hit, std::uint32_t column,
                          std::uint32_t slot, float value) {
    unsigned left = __ballot_sync(all_lanes, hit);
    while (left != 0) {
        int from[at_once];
        float2 line[at_once];
#pragma unroll
        for (unsigned k = 0; k < at_once; ++k) {
            from[k] = __ffs(static_cast<int>(left)) - 1;  // −1: no more
            left &= left - 1;
            if (from[k] < 0) continue;
            line[k] = lines[std::uint64_t{__shfl_sync(all_lanes, slot, from[k])} * 32];
        }
#pragma unroll
        for (unsigned k = 0; k < at_once; ++k) {
            if (from[k] < 0) break;
            const float own = __shfl_sync(all_lanes, value, from[k]);
            float2& sum = sums[__shfl_sync(all_lanes, column, from[k]) % partial_sums * 32];
            sum.x += own * line[k].x;
            sum.y += own * line[k].y;
        }
    }
}

/// Rows [32·block.x, +32), the group block.y of the round: a warp takes four rows in turn, a lane two queries. Partial sums
/// of a warp in 4 KB of shared memory; keys pass through 8 KB, so that neighbouring rows' are written together.
__global__ void __launch_bounds__(block_threads)
    look_up_rows_kernel(sparse_pairs pairs, query_tables tables) {
    __shared__ float2 all_sums[warps][partial_sums][32];
    __shared__ std::uint32_t found[group_queries][rows_of_block + 1];
    const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const column_word* const words = tables.words_of(blockIdx.y);
    const auto* const lines = reinterpret_cast<const float2*>(tables.lines_of(pairs, blockIdx.y)) + lane;
    const std::uint32_t first_query = tables.first_query + blockIdx.y * group_queries;
    const std::uint64_t first_row = std::uint64_t{blockIdx.x} * rows_of_block;
    float2* const sums = &all_sums[warp][0][lane];

    for (unsigned at = warp * rows_of_warp; at < (warp + 1) * rows_of_warp && first_row + at < pairs.n;
         ++at) {
        const std::uint64_t id = pairs.row_at(first_row + at);
        const sparse_row row = pairs.rows[id];
#pragma unroll
        for (unsigned c = 0; c < partial_sums; ++c) sums[c * 32] = {0, 0};
        for (std::uint64_t first = 0; first < row.size; first += 32) {
            const bool here = first + lane < row.size;
            const std::uint32_t column = here ? row.columns[first + lane] : 0;
            const float value = here ? row.values[first + lane] : 0.0f;
            const column_word word = words[column / 32];
            add_lines(sums, lines, here && word.has(column), column, word.slot(column), value);
        }
#pragma unroll
        for (unsigned half = partial_sums / 2; half != 0; half /= 2)
            for (unsigned c = 0; c < half; ++c) {
                sums[c * 32].x += sums[(c + half) * 32].x;
                sums[c * 32].y += sums[(c + half) * 32].y;
            }
        const std::uint32_t query = first_query + 2 * lane;
        if (query < pairs.query_count) found[2 * lane][at] = pairs.key(sums[0].x, id, query);
        if (query + 1 < pairs.query_count) found[2 * lane + 1][at] = pairs.key(sums[0].y, id, query + 1);
    }
    __syncthreads();
    if (first_row + lane >= pairs.n) return;
    for (unsigned q = warp; q < group_queries && first_query + q < pairs.query_count; q += warps)
        pairs.keys[(first_query + q) * pairs.n + first_row + lane] = found[q][lane];
}

void look_up_rows(cuda_place& place, const sparse_pairs& pairs, std::uint64_t query_entries,
                  std::uint64_t words_of_group, std::uint64_t memory) {
    const cuda_array<float> lines(place, query_entries * group_queries, "sparse queries, laid out");
    place.fill_bytes(lines.data(), 0, lines.span().size_bytes());
    const std::uint64_t groups = cuda::blocks_for(pairs.query_count, group_queries);
    const std::uint64_t of_round = std::clamp<std::uint64_t>(memory / (words_of_group * sizeof(column_word)),
                                                             1, std::min<std::uint64_t>(groups, 65'535));
    const cuda_array<column_word> words(place, of_round * words_of_group, "columns of sparse queries");
    for (std::uint64_t group = 0; group < groups; group += of_round) {
        const auto count = static_cast<unsigned>(std::min(of_round, groups - group));
        const query_tables tables{words.data(), words_of_group, lines.data(),
                                  static_cast<std::uint32_t>(group * group_queries)};
        sparse_pairs some = pairs;  // without the queries after the round
        some.query_count = static_cast<std::uint32_t>(
            std::min<std::uint64_t>(pairs.query_count, (group + count) * group_queries));
        place.fill_bytes(words.data(), 0, words.span().size_bytes());
        const cuda::launch_shape a_warp_a_query{count * (group_queries / warps), block_threads};
        QUERN_LAUNCH(place, a_warp_a_query, mark_columns_kernel, some, tables);
        QUERN_LAUNCH(place, (cuda::launch_shape{count, count_threads}), count_columns_kernel, tables);
        QUERN_LAUNCH(place, a_warp_a_query, fill_lines_kernel, some, tables);
        const dim3 grid(cuda::blocks_for(pairs.n, rows_of_block), count);
        QUERN_LAUNCH(place, (cuda::launch_shape{grid, block_threads}), look_up_rows_kernel, some, tables);
    }
}

}  // namespace

bool look_up_products(cuda_place& place, const sparse_pairs& pairs, std::uint64_t query_entries) {
    constexpr std::uint32_t max_dimensions = 1u << 25;  // 8 MB per table, 128 MB per expanded query
    constexpr std::uint32_t few_queries = 3;            // for which expanding each costs less than tables
    const std::uint64_t memory = place.memory().left() / 4;
    if (pairs.dimensions > max_dimensions) return false;
    const std::uint64_t words = (std::uint64_t{pairs.dimensions} + 31) / 32;
    const std::uint64_t needed = query_entries * group_queries * sizeof(float) + words * sizeof(column_word);
    if (pairs.query_count > few_queries && needed <= memory) {
        look_up_rows(place, pairs, query_entries, words, memory);
        return true;
    }
    if (std::uint64_t{pairs.dimensions} * sizeof(float) > memory) return false;
    scan_rows(place, pairs);
    return true;
}

}  // namespace quern::nearest_detail
