// SPDX-License-Identifier: Apache-2.0
#include "device/between_places.hpp"

#include <cuda.h>

#include <map>
#include <mutex>
#include <utility>

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

/// Turned on once in a process: it stays, and a second time is an error.
bool has_peer_access(cuda_place& writer, const cuda_place& owner) {
    static std::mutex one_at_a_time;
    static std::map<std::pair<int, int>, bool> known;
    const std::lock_guard lock(one_at_a_time);
    const auto [at, is_new] = known.try_emplace({writer.ordinal(), owner.ordinal()}, false);
    if (!is_new) return at->second;
    writer.make_current();
    // Fails where a machine does not allow what its devices can: then copies are not direct.
    const cudaError_t error = cudaDeviceEnablePeerAccess(owner.ordinal(), 0);
    if (error != cudaSuccess) static_cast<void>(cudaGetLastError());
    at->second = error == cudaSuccess || error == cudaErrorPeerAccessAlreadyEnabled;
    return at->second;
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
    if (!has_peer_access(writer, owner)) return false;
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
