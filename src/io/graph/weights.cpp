// SPDX-License-Identifier: Apache-2.0
// A decimal of up to 19 digits that are an integer below 2^53, with an exponent within ±22, is that integer times or
// over a power of ten; all three are doubles without error, so that one IEEE operation rounds once: the nearest double
// (Clinger, "How to Read Floating Point Numbers Accurately", PLDI 1990). Everything else goes to parse_double.
#include "io/graph/weights.hpp"

#include <cmath>

#include "io/graph/messages.hpp"

namespace quern::io {
namespace {

constexpr double powers_of_ten[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                    1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
constexpr std::uint64_t integer_powers[] = {1,
                                            10,
                                            100,
                                            1000,
                                            10000,
                                            100000,
                                            1000000,
                                            10000000,
                                            100000000,
                                            1000000000,
                                            10000000000,
                                            100000000000,
                                            1000000000000,
                                            10000000000000,
                                            100000000000000,
                                            1000000000000000,
                                            10000000000000000,
                                            100000000000000000,
                                            1000000000000000000};

}  // namespace

parsed_number take_number(const char* begin, const char* end) {
    const char* at = begin;
    const bool negative = *at == '-';
    at += negative || *at == '+';
    const digit_run whole = take_digits(at);
    std::uint64_t digits = whole.value;
    unsigned count = whole.digits;
    std::int64_t exponent = 0;
    if (*at == '.') {
        ++at;
        const digit_run fraction = take_digits(at);
        count += fraction.digits;
        if (count > 19) return parse_double({begin, end});
        digits = digits * (fraction.digits < 19 ? integer_powers[fraction.digits] : 0) + fraction.value;
        exponent = -static_cast<std::int64_t>(fraction.digits);
    }
    if (count == 0 || count > 19) return parse_double({begin, end});
    if (*at == 'e' || *at == 'E') {
        ++at;
        const bool down = *at == '-';
        at += down || *at == '+';
        const digit_run power = take_digits(at);
        if (power.digits == 0 || power.digits > 4) return parse_double({begin, end});
        exponent += down ? -static_cast<std::int64_t>(power.value) : static_cast<std::int64_t>(power.value);
    }
    if (at != end || digits >> 53 != 0 || exponent < -22 || exponent > 22) return parse_double({begin, end});
    auto value = static_cast<double>(digits);
    value = exponent < 0 ? value / powers_of_ten[-exponent] : value * powers_of_ten[exponent];
    return {negative ? -value : value};
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
    return which + " is zero (or too small for a double): leave the link out";
}

}  // namespace quern::io
