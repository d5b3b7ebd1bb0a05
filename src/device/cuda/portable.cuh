// SPDX-License-Identifier: Apache-2.0
// Device code for every architecture from 7.5 on: instructions of newer ones, with the same results where they are missing.
#pragma once

#include <cstdint>

namespace quern::cuda {

// ---- Reductions over the lanes of a warp, all of which call them and get the result (one instruction from 8.0 on) ----

template <class T, class Combine>
__device__ __forceinline__ T reduced_in_warp(T value, Combine combine) {
#pragma unroll
    for (unsigned apart = 16; apart != 0; apart /= 2)
        value = combine(value, __shfl_xor_sync(0xffffffffu, value, apart));
    return value;
}
/// `value` has 32 bits.
template <class T>
__device__ __forceinline__ T sum_of_warp(T value) {
#if __CUDA_ARCH__ >= 800
    return __reduce_add_sync(0xffffffffu, value);
#else
    return reduced_in_warp(value, [](T a, T b) { return a + b; });
#endif
}
template <class T>
__device__ __forceinline__ T min_of_warp(T value) {
#if __CUDA_ARCH__ >= 800
    return __reduce_min_sync(0xffffffffu, value);
#else
    return reduced_in_warp(value, [](T a, T b) { return a < b ? a : b; });
#endif
}
template <class T>
__device__ __forceinline__ T max_of_warp(T value) {
#if __CUDA_ARCH__ >= 800
    return __reduce_max_sync(0xffffffffu, value);
#else
    return reduced_in_warp(value, [](T a, T b) { return a < b ? b : a; });
#endif
}
__device__ __forceinline__ unsigned union_of_warp(unsigned bits) {
#if __CUDA_ARCH__ >= 800
    return __reduce_or_sync(0xffffffffu, bits);
#else
    return reduced_in_warp(bits, [](unsigned a, unsigned b) { return a | b; });
#endif
}
/// Groups of lanes with different masks may call it at the same time.
__device__ __forceinline__ unsigned union_of_lanes(unsigned mask, unsigned bits) {
#if __CUDA_ARCH__ >= 800
    return __reduce_or_sync(mask, bits);
#else
    unsigned all = 0;
    for (unsigned rest = mask; rest != 0; rest &= rest - 1)
        all |= __shfl_sync(mask, bits, __ffs(static_cast<int>(rest)) - 1);
    return all;
#endif
}

// ---- Kernels that start early (launch_shape::early, from 9.0 on): before, each starts when the previous one has ended ----

__device__ __forceinline__ void wait_for_previous_kernel() {
#if __CUDA_ARCH__ >= 900
    cudaGridDependencySynchronize();
#endif
}
__device__ __forceinline__ void let_next_kernel_start() {
#if __CUDA_ARCH__ >= 900
    cudaTriggerProgrammaticLaunchCompletion();
#endif
}

// ---- Copies of sixteen bytes to shared memory, in the background from 8.0 on ----

/// Copies, or writes zeros. Both ends are aligned to sixteen bytes.
__device__ __forceinline__ void copy_16(void* to, const void* from, bool exists = true) {
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(
                     static_cast<std::uint32_t>(__cvta_generic_to_shared(to))),
                 "l"(from), "r"(exists ? 16 : 0)
                 : "memory");
#else
    *static_cast<uint4*>(to) = exists ? *static_cast<const uint4*>(from) : uint4{};
#endif
}
/// The copies of this thread since the last call become a group.
__device__ __forceinline__ void end_copy_group() {
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}
/// Waits for all of this thread's groups but the last `Left`.
template <unsigned Left>
__device__ __forceinline__ void wait_for_copies() {
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_group %0;" ::"n"(Left) : "memory");
#endif
}

// ---- Tensor cores, in the operands of m16n8k32 and m16n8k256 (8.0); 7.5 has smaller ones ----

/// sums = rows · columns + before, of 8-bit integers: 16 rows, 8 columns, 32 components.
__device__ __forceinline__ void multiply_bytes(int (&sums)[4], const uint4& rows, unsigned low, unsigned high,
                                               const int (&before)[4]) {
#if __CUDA_ARCH__ >= 800
    asm("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%10, %11, %12, %13};"
        : "=r"(sums[0]), "=r"(sums[1]), "=r"(sums[2]), "=r"(sums[3])
        : "r"(rows.x), "r"(rows.y), "r"(rows.z), "r"(rows.w), "r"(low), "r"(high), "r"(before[0]),
          "r"(before[1]), "r"(before[2]), "r"(before[3]));
#else
    const auto multiply = [](int& first, int& second, unsigned row, unsigned column, int a, int b) {
        asm("mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 {%0, %1}, {%2}, {%3}, {%4, %5};"
            : "=r"(first), "=r"(second)
            : "r"(row), "r"(column), "r"(a), "r"(b));
    };
    int half[4];
    multiply(half[0], half[1], rows.x, low, before[0], before[1]);
    multiply(half[2], half[3], rows.y, low, before[2], before[3]);
    multiply(sums[0], sums[1], rows.z, high, half[0], half[1]);
    multiply(sums[2], sums[3], rows.w, high, half[2], half[3]);
#endif
}

/// sums = before + the number of common bits: 16 rows, 8 columns, 256 bits.
__device__ __forceinline__ void count_common_bits(std::int32_t (&sums)[4], const uint4& rows, unsigned low,
                                                  unsigned high, const std::int32_t (&before)[4]) {
#if __CUDA_ARCH__ >= 800
    asm("mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.and.popc {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
        "{%8, %9}, {%10, %11, %12, %13};"
        : "=r"(sums[0]), "=r"(sums[1]), "=r"(sums[2]), "=r"(sums[3])
        : "r"(rows.x), "r"(rows.y), "r"(rows.z), "r"(rows.w), "r"(low), "r"(high), "r"(before[0]),
          "r"(before[1]), "r"(before[2]), "r"(before[3]));
#else
    // 7.5 counts the bits that differ: |a ∩ b| = (|a| + |b| - |a △ b|) / 2, where |a| = |a △ ∅|.
    const auto differing = [](int(&counts)[2], unsigned row, unsigned column) {
        asm("mma.sync.aligned.m8n8k128.row.col.s32.b1.b1.s32.xor.popc {%0, %1}, {%2}, {%3}, {%0, %1};"
            : "+r"(counts[0]), "+r"(counts[1])
            : "r"(row), "r"(column));
    };
    const unsigned of_rows[2][2] = {{rows.x, rows.z}, {rows.y, rows.w}}, of_columns[2] = {low, high};
#pragma unroll
    for (unsigned half = 0; half < 2; ++half) {
        int alone[2] = {}, together[2] = {};
#pragma unroll
        for (unsigned k = 0; k < 2; ++k) {
            differing(alone, of_rows[half][k], 0);
            differing(alone, 0, of_columns[k]);
            differing(together, of_rows[half][k], of_columns[k]);
        }
        sums[2 * half] = before[2 * half] + (alone[0] - together[0]) / 2;
        sums[2 * half + 1] = before[2 * half + 1] + (alone[1] - together[1]) / 2;
    }
#endif
}

}  // namespace quern::cuda
