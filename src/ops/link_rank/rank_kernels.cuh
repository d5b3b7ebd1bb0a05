// SPDX-License-Identifier: Apache-2.0
// The kernels of the integer iteration (fixed_page_rank_cuda.cu): one pass over the nodes of a range of slots, which spreads
// a step, measures it and takes for the next. Alone on one device, the last block of a pass decides how to continue; as one
// of several (rank_parts_cuda.cu), it leaves the totals to the host.
#pragma once

#include <cstdint>
#include <type_traits>

#include "device/cuda/check.cuh"
#include "device/cuda/portable.cuh"
#include "ops/link_rank/fixed_arithmetic.hpp"
#include "ops/link_rank/fixed_page_rank.hpp"

namespace quern::link_rank_detail::rank_cuda {

inline constexpr unsigned block_threads = 256;
inline constexpr std::uint64_t no_node = ~std::uint64_t{0};  // in place of a degree: slot without a node

/// What nodes send: 32 bits, 64 bits, or their whole residual, to be weighted.
enum class sending : std::uint8_t { narrow, wide, weighted };

enum class going : std::uint32_t {
    on = 0,
    ended,
    widens,  ///< the next pass must take wide; the host has to enqueue that
};

/// What a pass adds up over its nodes.
struct totals {
    std::uint64_t change, greatest, residual_mass, dangling_mass;
};

/// The state of the iteration. In device memory; the last block of a pass writes it.
struct step_state {
    going halted = going::on;
    std::uint32_t iterations = 0, wide_steps = 0, converged = 0;
    std::uint64_t change = 0, before = ~std::uint64_t{0}, before_that = ~std::uint64_t{0};
    unsigned now_shift = 0, next_shift = 0;  ///< of the last take; of the next one
    bool now_wide = true, next_wide = true, stays_wide = false;
    std::int64_t each = 0, personalised_share = 0;  ///< lost mass: to each node; by preference
    even_shares even;
    totals sum{};  ///< of the running pass
    unsigned blocks_done = 0;
    totals of_pass{};  ///< for the host, where the graph is on several devices
};

struct constants {
    std::uint64_t alpha, tolerance;
    std::uint32_t max_iterations, nodes;
    unsigned contribution_digits;
    dangling_rule dangling;
};

/// Arrays by slot of a range, two slots per thread. `degrees` are no_node past the nodes and in slots without a node.
struct node_arrays {
    std::uint64_t pairs;
    const ulonglong2* degrees;
    longlong2 *ranks, *residuals;
    ulonglong2 *low, *high;  ///< sums over links; high: weighted
    int2* narrow;            ///< one of the two is sent
    longlong2* wide;
    const longlong2* teleport;     ///< null: teleport_each
    const ulonglong2* preference;  ///< null: none
    const longlong2* start;        ///< null: start_each
    std::int64_t teleport_each, start_each;
};

/// Adds a block's totals to the state. Returns true for one thread of the last block to arrive; it sees all totals.
inline __device__ bool add_totals(step_state* state, totals mine) {
    __shared__ totals of_warps[block_threads / 32];
    const auto fold = [](totals a, const totals& b) {
        return totals{a.change + b.change, max(a.greatest, b.greatest), a.residual_mass + b.residual_mass,
                      a.dangling_mass + b.dangling_mass};
    };
    for (unsigned d = 16; d != 0; d /= 2) {
        mine = fold(mine, {__shfl_down_sync(~0u, mine.change, d), __shfl_down_sync(~0u, mine.greatest, d),
                           __shfl_down_sync(~0u, mine.residual_mass, d),
                           __shfl_down_sync(~0u, mine.dangling_mass, d)});
    }
    if (threadIdx.x % 32 == 0) of_warps[threadIdx.x / 32] = mine;
    __syncthreads();
    if (threadIdx.x != 0) return false;
    for (unsigned w = 1; w < block_threads / 32; ++w) mine = fold(mine, of_warps[w]);
    const auto word = [](std::uint64_t& value) { return reinterpret_cast<unsigned long long*>(&value); };
    atomicAdd(word(state->sum.change), static_cast<unsigned long long>(mine.change));
    atomicMax(word(state->sum.greatest), static_cast<unsigned long long>(mine.greatest));
    atomicAdd(word(state->sum.residual_mass), static_cast<unsigned long long>(mine.residual_mass));
    atomicAdd(word(state->sum.dangling_mass), static_cast<unsigned long long>(mine.dangling_mass));
    __threadfence();
    if (atomicAdd(&state->blocks_done, 1u) + 1 != gridDim.x) return false;
    __threadfence();
    return true;
}

/// Returns the sums of all blocks and zeroes them for the next pass. Called by the last thread.
inline __device__ totals collect_totals(step_state* state) {
    volatile totals& sum = state->sum;  // written by other threads' atomics
    const totals all{sum.change, sum.greatest, sum.residual_mass, sum.dangling_mass};
    state->sum = {};
    state->blocks_done = 0;
    return all;
}

inline __device__ void share_dangling_mass(step_state* state, const constants& params,
                                           std::uint64_t dangling_mass) {
    const std::int64_t share = times_fraction(params.alpha, static_cast<std::int64_t>(dangling_mass));
    state->each = params.dangling == dangling_rule::uniform ? state->even.next(share, params.nodes) : 0;
    state->personalised_share = params.dangling == dangling_rule::preference ? share : 0;
}

/// Runs after the pass that spread and measured a step and took for the next. Called by the last thread.
inline __device__ void turn(step_state* state, const constants& params, bool weighted) {
    const totals all = collect_totals(state);
    ++state->iterations;
    if (state->now_wide && !weighted) ++state->wide_steps;
    state->change = all.change;
    state->converged = all.change < params.tolerance ? 1 : 0;
    const bool stuck =
        state->iterations >= 3 && all.change >= state->before && state->before >= state->before_that;
    if (state->converged != 0 || state->iterations == params.max_iterations || stuck) {
        state->halted = going::ended;
        return;
    }
    state->before_that = state->before;
    state->before = all.change;
    share_dangling_mass(state, params, all.dangling_mass);
    if (weighted) return;
    state->now_wide = state->next_wide;
    state->now_shift = state->next_shift;
    const unsigned shift = shift_for(all.greatest, params.contribution_digits);
    const bool clamped = shift > state->next_shift;
    if (!state->stays_wide && state->next_shift > 0 && !clamped && all.residual_mass > all.change / 16) {
        state->stays_wide = true;
        state->halted = going::widens;
    }
    state->next_wide = state->stays_wide;
    state->next_shift = state->stays_wide ? 0 : shift;
}

template <sending Next>
struct contribution_of {
    using type = std::int64_t;
    static constexpr bool weighted = Next == sending::weighted;
    static __device__ std::int64_t contribution(std::int64_t amount, double divisor) {
        return wide_contribution(amount, divisor);
    }
};
template <>
struct contribution_of<sending::narrow> {
    using type = std::int32_t;
    static constexpr bool weighted = false;
    static __device__ std::int32_t contribution(std::int64_t amount, double divisor) {
        return narrow_contribution(amount, divisor);
    }
};

/// What a node sends of `amount`. What is taken for it is lost, or is returned in `taken_part`.
template <sending Next>
__device__ __forceinline__ typename contribution_of<Next>::type take(std::int64_t amount,
                                                                     std::uint64_t degree, unsigned shift,
                                                                     std::int64_t& taken_part, totals& sum) {
    taken_part = amount;
    if (degree == 0) {
        sum.dangling_mass += static_cast<std::uint64_t>(amount);
        return 0;
    }
    if constexpr (contribution_of<Next>::weighted) {
        return amount;
    } else {
        const double divisor = static_cast<double>(degree) * static_cast<double>(std::uint64_t{1} << shift);
        const auto each = contribution_of<Next>::contribution(amount, divisor);
        taken_part = taken(each, degree, shift);
        return each;
    }
}

/// Sets initial ranks and residuals; takes `start` for the first step. Zeroes the sums of links. Alone: on one device.
template <sending Next, bool Alone>
__global__ void __launch_bounds__(block_threads)
    begin_kernel(node_arrays nodes, constants params, step_state* state) {
    cuda::wait_for_previous_kernel();
    totals sum{};
    const auto of_node = [&](std::int64_t start, std::uint64_t degree, auto& residual, auto& contributions) {
        contributions = 0;
        if (degree == no_node) return;
        std::int64_t taken_part;
        contributions = take<Next>(start, degree, 0, taken_part, sum);
        residual -= taken_part;
    };
    for (std::uint64_t p = std::uint64_t{blockIdx.x} * block_threads + threadIdx.x; p < nodes.pairs;
         p += std::uint64_t{gridDim.x} * block_threads) {
        longlong2 residual = nodes.teleport != nullptr
                                 ? nodes.teleport[p]
                                 : make_longlong2(nodes.teleport_each, nodes.teleport_each);
        const longlong2 start =
            nodes.start != nullptr ? nodes.start[p] : make_longlong2(nodes.start_each, nodes.start_each);
        const ulonglong2 degree = nodes.degrees[p];
        nodes.ranks[p] = residual;
        longlong2 contributions;
        of_node(start.x, degree.x, residual.x, contributions.x);
        of_node(start.y, degree.y, residual.y, contributions.y);
        nodes.residuals[p] = residual;
        nodes.wide[p] = contributions;
        nodes.low[p] = {};
        if constexpr (contribution_of<Next>::weighted) nodes.high[p] = {};
    }
    if (!add_totals(state, sum)) return;
    const totals all = collect_totals(state);
    if constexpr (Alone)
        share_dangling_mass(state, params, all.dangling_mass);
    else
        state->of_pass = all;
}

/// Spreads and measures a step, and takes for the next. Two slots per thread, 16 bytes per array; as many blocks as run at
/// once.
template <sending Next, bool Alone>
__global__ void __launch_bounds__(block_threads, 4)
    step_kernel(node_arrays nodes, constants params, step_state* state) {
    cuda::wait_for_previous_kernel();
    if (state->halted != going::on) return;
    const unsigned now_shift = state->now_shift, next_shift = state->next_shift;
    const std::int64_t each = state->each, personalised_share = state->personalised_share;
    totals sum{};
    const auto of_node = [&](std::uint64_t degree, std::uint64_t low, std::uint64_t high,
                             std::uint64_t preference, auto& rank, auto& residual, auto& contributions) {
        contributions = 0;
        if (degree == no_node) return;
        std::int64_t along_links;
        if constexpr (contribution_of<Next>::weighted)
            along_links =
                rounded_products(static_cast<wide_integer>(static_cast<wide_natural>(high) << 64 | low));
        else
            along_links = static_cast<std::int64_t>(low << now_shift);
        std::int64_t gain = times_fraction(params.alpha, along_links) + each;
        if (personalised_share != 0) gain += times_fraction(preference, personalised_share);
        rank += gain;
        const std::int64_t moved = residual + gain;
        sum.change += magnitude(moved);
        if (degree != 0) sum.greatest = max(sum.greatest, size_a_link(moved, degree));
        std::int64_t taken_part;
        contributions = take<Next>(moved, degree, next_shift, taken_part, sum);
        residual = moved - taken_part;
        sum.residual_mass += magnitude(residual);
    };
    for (std::uint64_t p = std::uint64_t{blockIdx.x} * block_threads + threadIdx.x; p < nodes.pairs;
         p += std::uint64_t{gridDim.x} * block_threads) {
        const ulonglong2 degree = nodes.degrees[p], low = nodes.low[p];
        ulonglong2 high{}, preference{};
        if constexpr (contribution_of<Next>::weighted) high = nodes.high[p];
        if (personalised_share != 0) preference = nodes.preference[p];
        longlong2 rank = nodes.ranks[p], residual = nodes.residuals[p];
        std::conditional_t<Next == sending::narrow, int2, longlong2> contributions;
        of_node(degree.x, low.x, high.x, preference.x, rank.x, residual.x, contributions.x);
        of_node(degree.y, low.y, high.y, preference.y, rank.y, residual.y, contributions.y);
        nodes.ranks[p] = rank;
        nodes.residuals[p] = residual;
        nodes.low[p] = {};
        if constexpr (contribution_of<Next>::weighted) nodes.high[p] = {};
        if constexpr (Next == sending::narrow)
            nodes.narrow[p] = contributions;
        else
            nodes.wide[p] = contributions;
    }
    if (!add_totals(state, sum)) return;
    if constexpr (Alone)
        turn(state, params, contribution_of<Next>::weighted);
    else
        state->of_pass = collect_totals(state);
}

}  // namespace quern::link_rank_detail::rank_cuda
