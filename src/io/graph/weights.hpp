// SPDX-License-Identifier: Apache-2.0
// The numbers beside links and entries, and what can be wrong with them.
#pragma once

#include <limits>
#include <string>
#include <string_view>

#include "io/numbers.hpp"

namespace quern::io {

/// parse_double for a text with 16 readable bytes behind it: short decimals without a look at the rest of the rules.
parsed_number take_number(const char* begin, const char* end);

inline bool is_weight(double value) {
    return value > 0 && value <= std::numeric_limits<double>::max();
}

/// Empty: there is none.
std::string problem_of_value(std::string_view field, const parsed_number& number);
/// Weights of links are positive and finite.
std::string problem_of_weight(std::string_view field, const parsed_number& number);

}  // namespace quern::io
