// SPDX-License-Identifier: Apache-2.0
// Sorting on a GPU: the entry points. radix_sort_kernels.cuh has the method.
#include "primitives/argument_checks.hpp"
#include "primitives/sort/radix_sort.cuh"

namespace quern::primitives {

template <sortable_key Key>
void sort_keys(cuda_place& place, device_span<Key> keys, sort_options options) {
    using raw = cuda::raw_key<Key>;
    cuda::radix_sort<raw, no_value>(place, reinterpret_cast<raw*>(keys.data()), nullptr, keys.size(),
                                    cuda::mask_for<Key>(options.direction), cuda::bits_to_sort<Key>(options),
                                    true);
}

template <sortable_key Key, payload Value>
void sort_pairs(cuda_place& place, device_span<Key> keys, device_span<Value> values, sort_options options) {
    using raw = cuda::raw_key<Key>;
    check_same_size("sort_pairs", "values", values.size(), "keys", keys.size());
    cuda::radix_sort<raw, Value>(place, reinterpret_cast<raw*>(keys.data()), values.data(), keys.size(),
                                 cuda::mask_for<Key>(options.direction), cuda::bits_to_sort<Key>(options),
                                 true);
}

#define QUERN_SORT_OF(KEY)                                                                             \
    template void sort_keys(cuda_place&, device_span<KEY>, sort_options);                              \
    template void sort_pairs(cuda_place&, device_span<KEY>, device_span<std::uint32_t>, sort_options); \
    template void sort_pairs(cuda_place&, device_span<KEY>, device_span<std::uint64_t>, sort_options);
QUERN_SORT_OF(std::uint32_t)
QUERN_SORT_OF(std::int32_t)
QUERN_SORT_OF(float)
QUERN_SORT_OF(std::uint64_t)
QUERN_SORT_OF(std::int64_t)
QUERN_SORT_OF(double)

}  // namespace quern::primitives
