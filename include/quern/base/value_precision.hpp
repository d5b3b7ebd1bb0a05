// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace quern {

/// The floating-point type of values: double or float.
enum class value_precision { f64, f32 };
inline constexpr std::string_view value_precision_names[] = {"f64", "f32"};

}  // namespace quern
