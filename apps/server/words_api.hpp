// SPDX-License-Identifier: Apache-2.0
// /api/words: the words of a query, each with the words that the collection uses alike.
#pragma once

#include <string>
#include <string_view>

#include "quern/tasks/search.hpp"
#include "server/site.hpp"

namespace quern::server {

/// In a store without a thesaurus no word has any. Throws bad_request for parameters that are refused, `interrupted` where
/// the run's stop flag is raised.
std::string words_json(const search_engine& engine, std::string_view query, const site_limits& limits,
                       const context& run);

}  // namespace quern::server
