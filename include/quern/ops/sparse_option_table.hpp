// SPDX-License-Identifier: Apache-2.0
// The options of sparse products.
#pragma once

#include <array>

#include "quern/base/option.hpp"
#include "quern/ops/sparse.hpp"

namespace quern {

template <>
inline constexpr auto options_of<multiply_options> =
    std::array{option_for<&multiply_options::storage>(
                   "storage", "NAME", sparse_storage_names,
                   "Storage format of the matrix: auto, coo, csr, ell, brc, brcp or brcp-paper."),
               option_for<&multiply_options::repeat>("repeat", "N", {.min = 1, .max = 1'000'000},
                                                     "Compute y N times, for the timings in --stats.")};

}  // namespace quern
