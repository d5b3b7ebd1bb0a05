// SPDX-License-Identifier: Apache-2.0
// Titles and texts in responses: shortened between characters, split at the words to mark, within the limit of a response.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "quern/tasks/search.hpp"
#include "server/site_limits.hpp"

namespace quern::server {

class json_writer;

/// The start of the character at `at`.
std::size_t back_to_character(std::string_view text, std::size_t at);
/// A title, truncated to the limit.
std::string_view shortened(std::string_view title, const site_limits& limits);

/// Throws bad_request for a response that is longer than allowed: "request fewer WHAT".
void check_size(const json_writer& json, const site_limits& limits, std::string_view what);

/// The words to mark in titles and texts: those of the query, their variants, and those similar to them; sorted. `of`: the
/// query's result.
std::vector<std::string> marked_words(const search_engine& engine, std::string_view query,
                                      const search_result& of, const context& ctx);

/// Splits a text into pieces, alternately outside and inside the marked words; the first is outside.
void write_parts(json_writer& json, std::string_view name, const search_engine& engine, std::string_view text,
                 std::span<const std::string> marked);

/// For a store with kept fields.
void write_fields(json_writer& json, const search_engine& engine, std::string_view fields);

}  // namespace quern::server
