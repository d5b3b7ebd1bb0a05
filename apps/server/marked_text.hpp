// SPDX-License-Identifier: Apache-2.0
// Titles and texts in responses: shortened between characters, and split at the words to mark.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "quern/tasks/search.hpp"
#include "server/site.hpp"

namespace quern::server {

class json_writer;

/// The start of the character at `at`.
std::size_t back_to_character(std::string_view text, std::size_t at);
/// A title, truncated to the limit.
std::string_view shortened(std::string_view title, const site_limits& limits);

/// Splits a text into pieces, alternately outside and inside the marked words; the first is outside.
void write_parts(json_writer& json, std::string_view name, const search_engine& engine, std::string_view text,
                 std::span<const std::string> marked);

/// For a store with kept fields.
void write_fields(json_writer& json, const search_engine& engine, std::string_view fields);

}  // namespace quern::server
