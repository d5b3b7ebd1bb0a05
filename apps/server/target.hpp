// SPDX-License-Identifier: Apache-2.0
// Parses a request's target: a path, and parameters as sent by HTML forms.
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

/// An invalid request: the client gets the reason. Any other error is the server's own.
class bad_request : public error {
  public:
    using error::error;
};

/// %41 becomes A; with `plus_is_blank`, + becomes a blank. Empty if a % is not followed by two hexadecimal
/// digits.
std::optional<std::string> percent_decoded(std::string_view text, bool plus_is_blank);

struct target_parts {
    std::string_view path;   ///< as sent
    std::string_view query;  ///< as sent, without its ?
};
target_parts split_target(std::string_view target);

/// The parameters of a request. Every member throws a bad_request that names the parameter and the expected
/// value.
class parameters {
  public:
    /// Refuses invalid escapes, unknown names, and names given twice.
    parameters(std::string_view query, std::span<const std::string_view> known);

    std::optional<std::string_view> text(std::string_view name) const;
    std::optional<std::uint64_t> integer(std::string_view name, std::uint64_t min, std::uint64_t max) const;
    std::optional<double> number(std::string_view name) const;
    /// 1 or true, 0 or false.
    std::optional<bool> choice(std::string_view name) const;
    /// The position of the value among `names`.
    std::optional<std::size_t> name(std::string_view name, std::span<const std::string_view> names) const;

  private:
    std::vector<std::pair<std::string, std::string>> values_;
};

}  // namespace quern::server
