// SPDX-License-Identifier: Apache-2.0
// Numbers as text. std::to_chars without a format picks the shortest decimal that reads back to the same value,
// independent of the locale; of the two notations it uses the shorter one, as in 1e+20.
#include <charconv>
#include <cmath>

#include "quern/base/rows.hpp"

namespace quern {
namespace {

template <typename Float>
std::string shortest_decimal(Float value) {
    if (std::isnan(value)) return "nan";  // the sign of a NaN has no meaning
    char text[32];
    const auto [end, failure] = std::to_chars(text, text + sizeof text, value);
    return failure == std::errc{} ? std::string(text, end) : std::string();
}

}  // namespace

std::string shortest(double value) {
    return shortest_decimal(value);
}
std::string shortest(float value) {
    return shortest_decimal(value);
}

}  // namespace quern
