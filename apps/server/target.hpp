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
#include "server/api_parameter.hpp"

namespace quern::server {

/// An invalid request: the client gets the reason. Any other error is the server's own.
class bad_request : public error {
  public:
    using error::error;
};

/// A query that is not understood at a place.
class bad_query : public bad_request {
  public:
    bad_query(const std::string& why, std::size_t position) : bad_request(why), position_(position) {}
    std::size_t position() const noexcept { return position_; }  ///< in characters from 0

  private:
    std::size_t position_;
};

/// The request is valid, but refused with another status than 400 or 404.
class request_refused : public error {
  public:
    request_refused(unsigned status, const std::string& why) : error(why), status_(status) {}
    unsigned status() const noexcept { return status_; }

  private:
    unsigned status_;
};

/// The type of a Content-Type header without its parameters, in lower case.
std::string media_type(std::string_view header);

/// %41 becomes A; with `plus_is_blank`, + becomes a blank. Empty if a % is not followed by two hexadecimal
/// digits.
std::optional<std::string> percent_decoded(std::string_view text, bool plus_is_blank);

struct target_parts {
    std::string_view path;   ///< as sent
    std::string_view query;  ///< as sent, without its ?
};
target_parts split_target(std::string_view target);

/// The value of the first parameter of this name; nothing without one, or if an escape is invalid (`parameters` then refuses
/// the request).
std::optional<std::string> value_in(std::string_view query, std::string_view name);

/// Names of parameters with their values as text.
using parameter_values = std::vector<std::pair<std::string, std::string>>;

/// The parameters of a request. Every member throws a bad_request that names the parameter and the expected
/// value.
class parameters {
  public:
    /// Refuses invalid escapes, unknown names, and names given twice. Keeps a view of `known`.
    parameters(std::string_view query, std::span<const api_parameter> known);
    /// The same for decoded values.
    parameters(const parameter_values& values, std::span<const api_parameter> known);

    std::optional<std::string_view> text(std::string_view name) const;
    /// Sets those options of the table that are known and given.
    template <class Options>
    void read(Options& options) const {
        for (const option<Options>& row : options_of<Options>) {
            if (const auto value = value_of(row.name)) row.set(options, *value);
        }
    }

  private:
    const api_parameter* find(std::string_view name) const;  ///< null: not known
    [[noreturn]] void refuse_unknown(std::string_view name) const;
    std::optional<option_value> value_of(std::string_view name) const;

    std::span<const api_parameter> known_;
    void add(std::string name, std::string value);

    parameter_values values_;
};

}  // namespace quern::server
