// SPDX-License-Identifier: Apache-2.0
// A threshold exactly as the user wrote it: 0.05 is 5/100, and comparisons use integers.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace quern {

struct decimal {
    std::uint64_t numerator = 0;
    std::uint64_t denominator = 1;  ///< a power of ten, at most 10^9

    double value() const { return static_cast<double>(numerator) / static_cast<double>(denominator); }
    friend bool operator==(const decimal&, const decimal&) = default;
};

/// Reads "0.05", ".05", "3" or "1e-3": at most nine digits after the point, at most nine before it, no sign;
/// leading and trailing zeros do not count, and equal numbers become equal decimals. Throws a usage_error that
/// quotes the text.
decimal parse_decimal(std::string_view text);

/// The shortest text that parse_decimal reads back: "0.05".
std::string to_text(const decimal& value);

}  // namespace quern
