// SPDX-License-Identifier: Apache-2.0
// A request's target taken apart: a path, and parameters as HTML forms send them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "quern/base/error.hpp"

namespace quern::server {

/// The request itself is refused: its sender is told why. Any other error here is the server's own.
class bad_request : public error {
  public:
    using error::error;
};

/// %41 becomes A; with `plus_is_blank`, + a blank. Nothing where a % is not followed by two hexadecimal digits.
std::optional<std::string> percent_decoded(std::string_view text, bool plus_is_blank);

struct target_parts {
    std::string_view path;   ///< as sent
    std::string_view query;  ///< as sent, without its ?
};
target_parts split_target(std::string_view target);

/// The parameters of a request. Every member throws bad_request that names the parameter and says what was expected.
class parameters {
  public:
    /// Refuses bad escapes, names that are not `known`, and names given twice.
    parameters(std::string_view query, std::span<const std::string_view> known);

    std::optional<std::string_view> text(std::string_view name) const;
    std::optional<std::uint64_t> integer(std::string_view name, std::uint64_t least,
                                         std::uint64_t most) const;
    std::optional<double> number(std::string_view name) const;
    /// 1 or true, 0 or false.
    std::optional<bool> choice(std::string_view name) const;
    /// The position of the value among `names`.
    std::optional<std::size_t> name(std::string_view name, std::span<const std::string_view> names) const;

  private:
    std::vector<std::pair<std::string, std::string>> values_;
};

}  // namespace quern::server
