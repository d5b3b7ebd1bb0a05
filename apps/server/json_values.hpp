// SPDX-License-Identifier: Apache-2.0
// JSON of clients, as parameters: each member has the JSON type of its parameter.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "quern/base/option.hpp"
#include "server/api_parameter.hpp"
#include "server/target.hpp"

namespace quern::server {

/// What JSON a value of this option is, for messages: "a whole number".
std::string_view json_type_of(const option_description& about);

/// The value as a user would type it; nothing if it is of another type.
std::optional<std::string> text_of(const nlohmann::json& value, const option_description& about);

/// The members of the JSON object `body`; the value of `vector` is a list of numbers. Throws bad_request, which names the
/// member and the expected type, also for members that are given twice.
parameter_values values_of_body(std::string_view body, std::span<const api_parameter> known);

}  // namespace quern::server
