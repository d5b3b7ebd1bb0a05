// SPDX-License-Identifier: Apache-2.0
// See sort_cuda.cuh.
#include "primitives/sort/sort_cuda.cuh"

QUERN_SORT_OF(std::uint32_t)
