// SPDX-License-Identifier: Apache-2.0
// The numbers of links and entries, and their validation.
#pragma once

#include <limits>
#include <string>
#include <string_view>

#include "io/lines/numbers.hpp"

namespace quern::io {

/// parse_double for a text followed by 16 readable bytes: a fast path for short decimals.
parsed_number take_number(const char* begin, const char* end);

inline bool is_weight(double value) {
    return value > 0 && value <= std::numeric_limits<double>::max();
}

/// Empty: no problem.
std::string problem_of_value(std::string_view field, const parsed_number& number);
/// Weights of links are positive and finite.
std::string problem_of_weight(std::string_view field, const parsed_number& number);

}  // namespace quern::io
