// SPDX-License-Identifier: Apache-2.0
// Device code for compute capability 9.0 and newer: barriers in shared memory, the copy engine, clusters. A kernel that uses
// it begins with `if (!cuda::hopper_code) return;` and is launched only where abilities::hopper() is true, so older
// architectures compile an empty kernel. (PTX: mbarrier, cp.async.bulk, barrier.cluster.)
#pragma once

#include <cooperative_groups.h>

#include <cstdint>

namespace quern::cuda {

#if __CUDA_ARCH__ >= 900

inline constexpr bool hopper_code = true;

__device__ __forceinline__ std::uint32_t shared_address(const void* at) {
    return static_cast<std::uint32_t>(__cvta_generic_to_shared(at));
}
__device__ __forceinline__ void make_barrier(std::uint64_t* barrier, unsigned arrivals) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(barrier)), "r"(arrivals)
                 : "memory");
}
/// After make_barrier: the copy engine sees the barriers.
__device__ __forceinline__ void show_barriers() {
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}
__device__ __forceinline__ void arrive(std::uint64_t* barrier) {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_address(barrier)) : "memory");
}
__device__ __forceinline__ void arrive_expecting(std::uint64_t* barrier, unsigned bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(barrier)),
                 "r"(bytes)
                 : "memory");
}
/// Waits for the end of the barrier's phase of that parity.
__device__ __forceinline__ void wait_for(std::uint64_t* barrier, unsigned parity) {
    unsigned done = 0;
    while (done == 0) {
        asm volatile(
            "{\n .reg .pred p;\n mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n"
            " selp.u32 %0, 1, 0, p;\n}"
            : "=r"(done)
            : "r"(shared_address(barrier)), "r"(parity)
            : "memory");
    }
}
/// Both ends aligned to sixteen bytes.
__device__ __forceinline__ void bring(void* to, const void* from, unsigned bytes, std::uint64_t* barrier) {
    asm volatile(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
            shared_address(to)),
        "l"(from), "r"(bytes), "r"(shared_address(barrier))
        : "memory");
}
/// Earlier reads of shared memory by this thread are complete before the copy engine writes there.
__device__ __forceinline__ void order_reads_before_copies() {
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

/// All threads of all blocks of a cluster; writes to shared memory before it are seen after it.
__device__ __forceinline__ void cluster_barrier() {
    cooperative_groups::this_cluster().sync();
}
/// The same variable of shared memory in another block of the cluster.
template <class T>
__device__ __forceinline__ T* in_block_of_cluster(T* variable, unsigned block) {
    return cooperative_groups::this_cluster().map_shared_rank(variable, block);
}

#else  // never called

inline constexpr bool hopper_code = false;

__device__ __forceinline__ void make_barrier(std::uint64_t*, unsigned) {}
__device__ __forceinline__ void show_barriers() {}
__device__ __forceinline__ void arrive(std::uint64_t*) {}
__device__ __forceinline__ void arrive_expecting(std::uint64_t*, unsigned) {}
__device__ __forceinline__ void wait_for(std::uint64_t*, unsigned) {}
__device__ __forceinline__ void bring(void*, const void*, unsigned, std::uint64_t*) {}
__device__ __forceinline__ void order_reads_before_copies() {}
__device__ __forceinline__ void cluster_barrier() {}
template <class T>
__device__ __forceinline__ T* in_block_of_cluster(T* variable, unsigned) {
    return variable;
}

#endif

}  // namespace quern::cuda
