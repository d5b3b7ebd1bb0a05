// SPDX-License-Identifier: Apache-2.0
// The options of the product of a matrix file besides those of sparse products (quern/ops/sparse_option_table.hpp).
#pragma once

#include <array>

#include "quern/base/option.hpp"
#include "quern/ops/sparse_option_table.hpp"
#include "quern/tasks/spmv.hpp"

namespace quern {

template <>
inline constexpr auto options_of<spmv_options> = std::array{
    option_for<&spmv_options::precision>("precision", "NAME", value_precision_names,
                                         "Type of A, x and y: f64 or f32."),
    option_for<&spmv_options::compare>("error", "Also report the error of y relative to the exact sums.")};

}  // namespace quern
