// SPDX-License-Identifier: Apache-2.0
// The external sort with runs sorted by the CPU.
#include "primitives/external_sort/external_sort_impl.hpp"

namespace quern::primitives {

#define QUERN_EXTERNAL_SORT(Key)                                   \
    template class external_sorter<cpu_place, Key, std::uint32_t>; \
    template class external_sorter<cpu_place, Key, std::uint64_t>;
QUERN_EXTERNAL_SORT(std::uint32_t)
QUERN_EXTERNAL_SORT(std::int32_t)
QUERN_EXTERNAL_SORT(std::uint64_t)
QUERN_EXTERNAL_SORT(std::int64_t)
QUERN_EXTERNAL_SORT(float)
QUERN_EXTERNAL_SORT(double)
#undef QUERN_EXTERNAL_SORT

}  // namespace quern::primitives
