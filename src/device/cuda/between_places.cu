// SPDX-License-Identifier: Apache-2.0
#include "device/between_places.hpp"

#include <cuda.h>

#include "device/cuda/check.cuh"
#include "device/devices.hpp"

namespace quern {
namespace {

/// The pool of an array, which only the driver tells. Null if it does not.
cudaMemPool_t pool_of_array(const void* array) {
    const auto attribute_of = reinterpret_cast<CUresult (*)(void*, CUpointer_attribute, CUdeviceptr)>(
        device::driver_function("cuPointerGetAttribute"));
    CUmemoryPool pool = nullptr;
    if (attribute_of == nullptr ||
        attribute_of(static_cast<void*>(&pool), CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE,
                     reinterpret_cast<CUdeviceptr>(array)) != CUDA_SUCCESS)
        return nullptr;
    return pool;
}

cudaEvent_t event_of(void* event) {
    return static_cast<cudaEvent_t>(event);
}

}  // namespace

bool open_for(cuda_place& writer, cuda_place& owner, const void* array) {
    if (writer.ordinal() == owner.ordinal()) return true;
    int can = 0;
    QUERN_CHECK(cudaDeviceCanAccessPeer(&can, writer.ordinal(), owner.ordinal()));
    if (can == 0 || array == nullptr) return false;
    writer.make_current();
    // Fails if it is on already, and where a machine does not allow what its devices can: then copies are not direct.
    const cudaError_t error = cudaDeviceEnablePeerAccess(owner.ordinal(), 0);
    static_cast<void>(cudaGetLastError());
    if (error != cudaSuccess && error != cudaErrorPeerAccessAlreadyEnabled) return false;
    // Memory of a pool is not part of that access.
    const cudaMemPool_t pool = pool_of_array(array);
    if (pool == nullptr) return false;
    cudaMemAccessDesc access{};
    access.location = {cudaMemLocationTypeDevice, writer.ordinal()};
    access.flags = cudaMemAccessFlagsProtReadWrite;
    if (cudaMemPoolSetAccess(pool, &access, 1) == cudaSuccess) return true;
    static_cast<void>(cudaGetLastError());
    return false;
}

void copy_across(cuda_place& from, const void* values, const cuda_place& to, void* target,
                 std::size_t bytes) {
    if (bytes == 0) return;
    if (from.ordinal() == to.ordinal())
        QUERN_CHECK(cudaMemcpyAsync(target, values, bytes, cudaMemcpyDeviceToDevice, from.stream()));
    else
        QUERN_CHECK(cudaMemcpyPeerAsync(target, to.ordinal(), values, from.ordinal(), bytes, from.stream()));
}

place_mark<cuda_place>::place_mark(cuda_place& place) : place_(place) {
    place.make_current();
    cudaEvent_t event = nullptr;
    QUERN_CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    event_ = event;
}
// A destructor reports nothing; anything that fails here has failed, and been thrown, before.
place_mark<cuda_place>::~place_mark() {
    if (cudaEventDestroy(event_of(event_)) != cudaSuccess) static_cast<void>(cudaGetLastError());
}
void place_mark<cuda_place>::set() {
    QUERN_CHECK(cudaEventRecord(event_of(event_), place_.stream()));
}
void place_mark<cuda_place>::await(cuda_place& other) const {
    QUERN_CHECK(cudaStreamWaitEvent(other.stream(), event_of(event_), 0));
}

}  // namespace quern
