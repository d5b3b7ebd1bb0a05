// SPDX-License-Identifier: Apache-2.0
// The result of a query with its messages: words that no document contains, and suggestions for them.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "console.hpp"
#include "quern/base/context.hpp"
#include "quern/tasks/search.hpp"

namespace quern::cli {

/// Whether to replace words that no document contains by the suggested ones. `automatic`: only in a table,
/// which people read.
enum class correction { automatic, on, off };
inline constexpr std::string_view correction_names[] = {"auto", "on", "off"};

struct corrected_result {
    search_result result;
    std::string query;                     ///< the query that was run: as typed, or corrected
    std::optional<std::string> corrected;  ///< set if it is not the typed one
};

/// Runs the query as typed. With `correct`, if one of its words is unknown and the corrected query has hits,
/// returns those and prints a message.
corrected_result search_query_text(const search_engine& engine, const std::string& query,
                                   const search_options& options, bool correct, const context& ctx,
                                   console& messages);

/// Prints the messages that follow the hits; a corrected query needs none.
void tell(const corrected_result& given, console& messages);

}  // namespace quern::cli
