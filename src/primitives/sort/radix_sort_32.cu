// SPDX-License-Identifier: Apache-2.0
#include "primitives/sort/radix_sort_kernels.cuh"

QUERN_RADIX_SORT_OF(std::uint32_t)
QUERN_RADIX_SORT_OF(float)
