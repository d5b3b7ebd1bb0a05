// SPDX-License-Identifier: Apache-2.0
// For by_windows_cuda.cu: bounds of all objects by the windows that hold them (rank_windows.cuh), as floats of coarse windows,
// and the objects whose upper bound reaches a threshold.
#pragma once

#include "ops/rank_aggregation/rank_windows.cuh"

namespace quern::rank_aggregation_detail {
namespace {

constexpr unsigned bound_threads = 512, of_word = 8;  // objects of a word of sixteen bytes
constexpr unsigned lists_at_once = 4;                 // whose words are in flight
constexpr std::uint32_t sample_words = 64;            // consecutive words of a sample

/// Bounds of coarse windows, 2^shift windows each: `count` floats a list, the last for objects that are not in the list.
struct bound_table {
    unsigned shift, count;
    __device__ unsigned of(unsigned window) const {
        const unsigned coarse = window >> shift;
        return coarse < count - 1 ? coarse : count - 1;
    }
};

struct window_cells {
    const std::uint16_t* cells;
    std::uint64_t stride;
    std::uint32_t objects;
    unsigned lists;
    __device__ std::uint16_t at(std::uint32_t object, unsigned list) const {
        return cells[list * stride + object];
    }
    __device__ const uint4* words(unsigned list) const {
        return reinterpret_cast<const uint4*>(cells + list * stride);
    }
    __device__ bool in_some_list(std::uint32_t object) const {
        for (unsigned i = 0; i < lists; ++i)
            if (at(object, i) != no_window) return true;
        return false;
    }
};

/// What the host needs between the steps.
struct search_state {
    unsigned long long candidates;  ///< also those for which there was no room
    unsigned long long chosen;
    unsigned long long entries;  ///< to be searched for the values of the chosen
};

/// One thread per coarse window, block (x, y): of list y. Lower bounds follow upper bounds.
template <class Score>
__global__ void bound_windows_kernel(ranked_table<Score> table, bound_table shape, float* bounds) {
    const unsigned w = blockIdx.x * blockDim.x + threadIdx.x, list = blockIdx.y;
    if (w >= shape.count) return;
    double upper = table.floor_value(list), lower = upper;
    const std::uint64_t size = table.lists[list].size, first = first_of_window(w << shape.shift);
    if (w != shape.count - 1 && first < size) {
        const std::uint64_t next = first_of_window((w + 1) << shape.shift),
                            last = (next < size ? next : size) - 1;
        upper = table.value(list, table.lists[list].scores[first], first + 1);
        lower = table.value(list, table.lists[list].scores[last], last + 1);
    }
    bounds[list * shape.count + w] = __double2float_ru(upper);
    bounds[(table.size + list) * shape.count + w] = __double2float_rd(lower);
}

/// The bound of an object's sum of values (of a mean: before the division), rounded up or down.
template <aggregate Rule, bool Upper>
struct bound_sum {
    static __device__ float start() {
        return Rule == aggregate::product ? 1.0f
               : Rule == aggregate::min   ? __int_as_float(0x7f800000)
               : Rule == aggregate::max   ? -__int_as_float(0x7f800000)
                                          : 0.0f;
    }
    static __device__ float with(float sum, float value) {
        if constexpr (Rule == aggregate::min) return fminf(sum, value);
        if constexpr (Rule == aggregate::max) return fmaxf(sum, value);
        if constexpr (Rule == aggregate::product) {
            if (sum == 0 || value == 0) return 0;
            return Upper ? __fmul_ru(sum, value) : __fmul_rd(sum, value);
        }
        return Upper ? __fadd_ru(sum, value) : __fadd_rd(sum, value);
    }
};

/// Calls take(j, word, the bounds of its objects) for each word = words(j) of this thread, until it returns false. Called by all
/// threads of a block; shared memory: the table's bounds.
template <aggregate Rule, bool Upper, class Words, class Take>
__device__ void for_each_bound(const window_cells& windows, const bound_table& shape, const float* bounds,
                               std::uint32_t count, const Words& words, const Take& take) {
    extern __shared__ float known[];
    for (unsigned j = threadIdx.x; j < windows.lists * shape.count; j += blockDim.x) known[j] = bounds[j];
    __syncthreads();
    using sum = bound_sum<Rule, Upper>;
    for (std::uint32_t j = blockIdx.x * blockDim.x + threadIdx.x; j < count; j += gridDim.x * blockDim.x) {
        const std::uint32_t word = words(j);
        float sums[of_word];
#pragma unroll
        for (float& one : sums) one = sum::start();
        for (unsigned i = 0; i < windows.lists; i += lists_at_once) {
            uint4 cells[lists_at_once];
#pragma unroll
            for (unsigned q = 0; q < lists_at_once; ++q)
                if (i + q < windows.lists) cells[q] = __ldcs(windows.words(i + q) + word);
#pragma unroll
            for (unsigned q = 0; q < lists_at_once; ++q) {
                if (i + q >= windows.lists) break;
                const float* const of_list = known + (i + q) * shape.count;
                const std::uint32_t pairs[] = {cells[q].x, cells[q].y, cells[q].z, cells[q].w};
#pragma unroll
                for (unsigned p = 0; p < of_word / 2; ++p) {
                    sums[2 * p] = sum::with(sums[2 * p], of_list[shape.of(pairs[p] & 0xffff)]);
                    sums[2 * p + 1] = sum::with(sums[2 * p + 1], of_list[shape.of(pairs[p] >> 16)]);
                }
            }
        }
        if (!take(j, word, sums)) return;
    }
}

/// Lower bounds of the objects in every `every`-th run of sample_words words. `count`: words of the sample.
template <aggregate Rule>
__global__ void __launch_bounds__(bound_threads)
    bound_sample_kernel(window_cells windows, bound_table shape, const float* bounds, std::uint32_t every,
                        std::uint32_t count, float* lower) {
    const auto word_of = [&](std::uint32_t j) {
        return j / sample_words * every * sample_words + j % sample_words;
    };
    for_each_bound<Rule, false>(
        windows, shape, bounds, count, word_of, [&](std::uint32_t j, std::uint32_t word, const float* sums) {
#pragma unroll
            for (unsigned o = 0; o < of_word; ++o) {
                const std::uint32_t object = word * of_word + o;
                const bool counts = object < windows.objects && windows.in_some_list(object);
                lower[j * of_word + o] = counts ? sums[o] : -__int_as_float(0x7f800000);
            }
            return true;
        });
}

/// Of a mean, different sums may have one quotient: then nothing is known.
__device__ inline float min_sum(float threshold, aggregate rule, double weights) {
    if (rule != aggregate::mean ||
        nextafterf(threshold, -__int_as_float(0x7f800000)) / weights < threshold / weights)
        return threshold;
    return -__int_as_float(0x7f800000);
}

/// The objects whose upper bound reaches the threshold, in any order.
template <aggregate Rule>
__global__ void __launch_bounds__(bound_threads)
    choose_candidates_kernel(window_cells windows, bound_table shape, const float* bounds, double weights,
                             const float* threshold, search_state* state, std::uint32_t* ids,
                             std::uint32_t capacity) {
    const float least = min_sum(*threshold, Rule, weights);
    const auto word_of = [](std::uint32_t j) { return j; };
    const std::uint32_t count = (windows.objects + std::uint64_t{of_word} - 1) / of_word;
    for_each_bound<Rule, true>(
        windows, shape, bounds, count, word_of, [&](std::uint32_t, std::uint32_t word, const float* sums) {
            unsigned chosen = 0;
#pragma unroll
            for (unsigned o = 0; o < of_word; ++o) chosen |= (sums[o] >= least ? 1u : 0u) << o;
            if (chosen == 0) return true;
            for (; chosen != 0; chosen &= chosen - 1) {
                const std::uint32_t object = word * of_word + __ffs(chosen) - 1;
                if (object >= windows.objects || !windows.in_some_list(object)) continue;
                const unsigned long long row = atomicAdd(&state->candidates, 1ull);
                if (row < capacity) ids[row] = object;
            }
            return *static_cast<volatile unsigned long long*>(&state->candidates) <= capacity;
        });
}

}  // namespace
}  // namespace quern::rank_aggregation_detail
