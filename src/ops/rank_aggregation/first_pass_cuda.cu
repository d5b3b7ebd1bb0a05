// SPDX-License-Identifier: Apache-2.0
// The first pass on a GPU (passes_cuda.cu): one kernel on the device decides how deep lists are read.
#include <cooperative_groups.h>

#include "device/cuda/portable.cuh"
#include "ops/rank_aggregation/passes_cuda.cuh"

namespace quern::rank_aggregation_detail {
namespace {

constexpr unsigned first_pass_threads = 1024, first_pass_warps = first_pass_threads / 32;

/// The depth of the next round of marks: where k objects would be complete if lists were independent, and a little further.
__device__ std::uint64_t next_depth(const pass_plan& plan, unsigned lists, std::uint64_t depth,
                                    std::uint64_t complete) {
    const double wanted = static_cast<double>(plan.k) / static_cast<double>(complete == 0 ? 1 : complete);
    const double grow = 1.02 * pow(wanted, 1.0 / lists);
    const auto next =
        static_cast<std::uint64_t>(static_cast<double>(depth) * fmin(fmax(grow, 1.05), 4.0)) + 1;
    return next < plan.deepest ? next : plan.deepest;
}

/// The entry with a given number in [from, to) of all lists.
struct entry_place {
    unsigned list;
    std::uint64_t at;
};
__device__ inline entry_place entry_of(std::uint64_t number, std::uint64_t from, std::uint64_t span) {
    const std::uint64_t list = (number | span) >> 32 == 0
                                   ? static_cast<std::uint32_t>(number) / static_cast<std::uint32_t>(span)
                                   : number / span;
    return {static_cast<unsigned>(list), from + (number - list * span)};
}

/// The objects that marks of a thread brought into a second list, and into the last one.
struct marked_counts {
    unsigned twice = 0, complete = 0;
};

/// All threads of the grid mark [from, to) of all lists.
template <class Score, class Word>
__device__ marked_counts set_bits(const ranked_table<Score>& table, const seen_lists<Word>& seen,
                                  std::uint64_t from, std::uint64_t to) {
    const std::uint64_t span = to - from, entries = span * table.size;
    const std::uint64_t threads = std::uint64_t{gridDim.x} * blockDim.x;
    const Word ended = ended_at<Word>(table, to);
    constexpr unsigned at_once = 4;  // entries whose atomics are in flight together
    marked_counts counts;
    for (std::uint64_t e = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; e < entries;
         e += at_once * threads) {
        std::uint32_t ids[at_once];
        unsigned lists[at_once];
        Word before[at_once];
#pragma unroll
        for (unsigned j = 0; j < at_once; ++j) {
            const std::uint64_t number = e + j * threads;
            const auto [list, at] = entry_of(number, from, span);
            lists[j] = number < entries && at < table.lists[list].size ? list : table.size;
            if (lists[j] != table.size) ids[j] = table.lists[list].ids[at];
        }
#pragma unroll
        for (unsigned j = 0; j < at_once; ++j)
            if (lists[j] != table.size) before[j] = seen.set_bit(ids[j], lists[j]);
#pragma unroll
        for (unsigned j = 0; j < at_once; ++j) {
            if (lists[j] == table.size) continue;
            const Word others = before[j] | ended;
            counts.complete += seen.missing_lists(others, 0) == 1 && (others >> lists[j] & 1) == 0;
            counts.twice += seen.missing_lists(before[j], 0) + 1 == table.size;
        }
    }
    return counts;
}

/// Adds one number per thread of a block to *sum.
__device__ inline void add_up(unsigned mine, unsigned long long* sum) {
    __shared__ unsigned of_block;
    __syncthreads();
    if (threadIdx.x == 0) of_block = 0;
    __syncthreads();
    const unsigned of_warp = cuda::sum_of_warp(mine);
    if (threadIdx.x % 32 == 0 && of_warp != 0) atomicAdd(&of_block, of_warp);
    __syncthreads();
    if (threadIdx.x == 0 && of_block != 0) atomicAdd(sum, static_cast<unsigned long long>(of_block));
}

/// The lists' values that a block caches during the search for a depth.
struct block_bounds {
    double greatest[max_lists], at_depth[first_pass_warps][max_lists], candidates[max_lists + 1];
    bool ended[first_pass_warps];
};

/// A lower bound of the k-th best score: k objects are among the first `depth` of all lists, and k (others) among the first
/// k of each. Called by all threads of a block; all get the result.
template <class Score>
__device__ double lower_bound_of_kth(const ranked_table<Score>& table, std::uint64_t k, std::uint64_t depth,
                                     block_bounds& known) {
    const unsigned t = threadIdx.x;
    if (t <= table.size) {
        const bool all = t == table.size;
        score_sum sum(table.rule);
        for (unsigned i = 0; i < table.size; ++i)
            sum.take(all ? table.bound(i, depth) : i == t ? table.bound(i, k) : table.floor_value(i));
        known.candidates[t] = sum.score(table.weights);
        if (!all) known.greatest[t] = table.bound(t, 0);
    }
    __syncthreads();
    double best = known.candidates[table.size];
    // A list with fewer than k entries gives no bound: k objects would have to be outside it, and there may not be as many.
    for (unsigned i = 0; i < table.size; ++i)
        if (table.lists[i].size >= k) best = fmax(best, known.candidates[i]);
    __syncthreads();
    return best;
}

/// Whether an object that lacks two lists at this depth, or any unseen one, can have the score. Called by a warp.
template <class Score>
__device__ bool some_pair_reaches(const ranked_table<Score>& table, std::uint64_t depth, double score,
                                  const double* greatest, double* at_depth) {
    const unsigned lane = threadIdx.x % 32, lists = table.size;
    for (unsigned i = lane; i < lists; i += 32) at_depth[i] = table.bound(i, depth);
    __syncwarp();
    const auto reaches = [&](unsigned a, unsigned b) {
        score_sum sum(table.rule);
        for (unsigned i = 0; i < lists; ++i) sum.take(i == a || i == b ? at_depth[i] : greatest[i]);
        return sum.score(table.weights) >= score;
    };
    bool found = lists == 1 && reaches(0, 0);
    for (unsigned a = 0; a + 1 < lists; ++a)
        for (unsigned b = a + 1 + lane; b < lists; b += 32) found |= reaches(a, b);
    found = __any_sync(0xffffffffu, found) != 0;
    __syncwarp();
    return found;
}

/// The smallest depth in [low, high] at which `ends(depth, at_depth)` is true, which it then is at all greater depths; high + 1 if
/// it is true at none. Called by all threads of a block; all get the result. Each warp tries one depth, with its array at_depth.
template <class Ends>
__device__ std::uint64_t first_depth(std::uint64_t low, std::uint64_t high, block_bounds& known,
                                     const Ends& ends) {
    const unsigned warp = threadIdx.x / 32;
    ++high;
    while (low < high) {
        const std::uint64_t span = high - low;
        const auto probe = [&](unsigned w) { return low + span * w / first_pass_warps; };
        const bool ended = ends(probe(warp), known.at_depth[warp]);
        if (threadIdx.x % 32 == 0) known.ended[warp] = ended;
        __syncthreads();
        unsigned first = 0;
        while (first < first_pass_warps && !known.ended[first]) ++first;
        const std::uint64_t new_high = first < first_pass_warps ? probe(first) : high;
        low = first == 0 ? new_high : probe(first - 1) + 1;
        high = new_high;
        __syncthreads();
    }
    return high;
}

/// The smallest depth in [low, high] at which no object that is missing from two lists can have the score; high + 1 if at every
/// depth one can.
template <class Score>
__device__ std::uint64_t depth_without_two(const ranked_table<Score>& table, std::uint64_t low,
                                           std::uint64_t high, double score, block_bounds& known) {
    return first_depth(low, high, known, [&](std::uint64_t depth, double* at_depth) {
        return !some_pair_reaches(table, depth, score, known.greatest, at_depth);
    });
}

/// The greatest depth at which k complete objects are good enough to stop within the limit: with the last values of a greater
/// one, some object that lacks two lists reaches their score at the limit. plan.deepest if chance completes k above it.
template <class Score>
__device__ std::uint64_t useful_depth(const ranked_table<Score>& table, const pass_plan& plan,
                                      block_bounds& known) {
    const auto stays_open = [&](double score, double* at_depth) {
        return some_pair_reaches(table, plan.limit, score, known.greatest, at_depth);
    };
    double* const own = known.at_depth[threadIdx.x / 32];
    if (!stays_open(lower_bound_of_kth(table, plan.k, plan.by_chance, known), own)) return plan.deepest;
    return first_depth(1, plan.by_chance, known,
                       [&](std::uint64_t depth, double* at_depth) {
                           score_sum sum(table.rule);
                           for (unsigned i = 0; i < table.size; ++i) sum.take(table.bound(i, depth));
                           return stays_open(sum.score(table.weights), at_depth);
                       }) -
           1;
}

/// Whether lists that chance alone will not complete in time look independent: then so many objects are in two of them.
__device__ inline bool looks_hopeless(const pass_plan& plan, unsigned lists, std::uint64_t useful,
                                      std::uint64_t depth, unsigned long long twice) {
    if (plan.objects * pow(static_cast<double>(useful) / plan.longest, static_cast<double>(lists)) >=
        static_cast<double>(plan.k))
        return false;
    const double share = static_cast<double>(depth) / plan.longest;
    const double by_chance = plan.objects * (0.5 * lists * (lists - 1)) * share * share;
    return static_cast<double>(twice) < 2 * by_chance + 16;
}

/// Pass 1. Cooperative: as many blocks of first_pass_threads as run at once; every block searches separately, with the same
/// result. Shared memory: 18 KB of bounds. The state is zero before.
template <class Score, class Word>
__global__ void __launch_bounds__(first_pass_threads, 1)
    first_pass_kernel(ranked_table<Score> table, seen_lists<Word> seen, pass_plan plan, pass_state* state) {
    __shared__ block_bounds known;
    const auto grid = cooperative_groups::this_grid();
    if (plan.looks) plan.deepest = useful_depth(table, plan, known);
    if (plan.deepest < plan.k) return;  // so few levels have no k objects
    std::uint64_t from = 0, depth = plan.first < plan.deepest ? plan.first : plan.deepest, complete = 0;
    for (unsigned round = 0;; ++round) {
        if (round == max_rounds) return;
        const marked_counts counts = set_bits(table, seen, from, depth);
        add_up(counts.complete, &state->complete[round]);
        if (round == 0 && plan.looks) add_up(counts.twice, &state->twice);
        grid.sync();
        complete += *static_cast<volatile unsigned long long*>(&state->complete[round]);
        if (complete >= plan.k) break;
        if (round == 0 && plan.looks &&
            looks_hopeless(plan, table.size, plan.deepest, depth,
                           *static_cast<volatile unsigned long long*>(&state->twice)))
            return;
        if (depth >= plan.deepest) return;
        from = depth;
        depth = next_depth(plan, table.size, depth, complete);
    }
    const double score = lower_bound_of_kth(table, plan.k, depth, known);
    const std::uint64_t enough = depth_without_two(table, depth, plan.limit, score, known);
    if (enough > plan.limit) return;
    set_bits(table, seen, depth, enough);
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        state->depth = enough;
        state->stopped = 1;
    }
    if (blockIdx.x == 0 && threadIdx.x < table.size) state->reached[threadIdx.x] = enough;
}

}  // namespace

template <class Score, class Word>
void run_first_pass(cuda_place& place, const ranked_table<Score>& table, const seen_lists<Word>& seen,
                    const pass_plan& plan, pass_state* state) {
    QUERN_LAUNCH(place, (cuda::launch_shape{place.multiprocessors(), first_pass_threads, 0, true}),
                 (first_pass_kernel<Score, Word>), table, seen, plan, state);
}
#define QUERN_FIRST_PASS(SCORE, WORD)                                                              \
    template void run_first_pass(cuda_place&, const ranked_table<SCORE>&, const seen_lists<WORD>&, \
                                 const pass_plan&, pass_state*);
QUERN_FIRST_PASS(float, std::uint32_t)
QUERN_FIRST_PASS(float, std::uint64_t)
QUERN_FIRST_PASS(double, std::uint32_t)
QUERN_FIRST_PASS(double, std::uint64_t)
#undef QUERN_FIRST_PASS

}  // namespace quern::rank_aggregation_detail
