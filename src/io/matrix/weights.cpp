// SPDX-License-Identifier: Apache-2.0
#include "io/matrix/weights.hpp"

#include <cmath>

#include "io/lines/line_messages.hpp"

namespace quern::io {

parsed_number take_number(const char* begin, const char* end) {
    double value = 0;
    const char* at = begin;
    if (take_short_decimal(at, value) && at == end) return {value};
    return parse_double({begin, end});
}

std::string problem_of_value(std::string_view field, const parsed_number& number) {
    if (number.problem == number_problem::none) return {};
    const std::string which = "the value " + quoted(field);
    if (number.problem == number_problem::too_large) return which + " is beyond the range of a double";
    return which + " is not a number";
}

std::string problem_of_weight(std::string_view field, const parsed_number& number) {
    if (number.problem == number_problem::none && is_weight(number.value)) return {};
    if (field.empty()) return "no weight: a weighted link is `from to weight`";
    const std::string which = "the weight " + quoted(field);
    if (number.problem == number_problem::too_large) return which + " is beyond the range of a double";
    if (number.problem == number_problem::not_a_number || std::isnan(number.value))
        return which + " is not a number";
    if (std::isinf(number.value) && number.value > 0) return which + " is infinite";
    if (number.value < 0) return which + " is negative";
    return which + " is zero (or too small for a double); remove the link";
}

}  // namespace quern::io
