// SPDX-License-Identifier: Apache-2.0
// What /api/search is asked: its parameters as options of the engine.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "quern/tasks/search.hpp"
#include "server/site_limits.hpp"

namespace quern::server {

class parameters;

struct search_request {
    std::string_view query;
    std::optional<std::string> q, like, vector;
    std::uint64_t k = 10;  ///< results after the offset
    bool parts = false;
    bool correct = false;
    search_options options;

    search_request() {
        options.suggestions = interactive_suggestions;
        options.ranking.title_weight = interactive_title_weight;
        options.syntax = query_syntax::automatic;
        options.typos = typo_tolerance::automatic;
    }
};

/// Throws bad_request for parameters that are out of range or need what the store lacks.
search_request read_request(const parameters& given, const search_engine& engine, const site_limits& limits);

}  // namespace quern::server
