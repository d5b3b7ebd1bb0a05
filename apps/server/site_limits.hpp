// SPDX-License-Identifier: Apache-2.0
// What one request may cost.
#pragma once

#include <cstddef>

namespace quern::server {

struct site_limits {
    std::size_t results = 1000;             ///< of one search: offset and k together
    std::size_t query_bytes = 2048;         ///< of q, decoded
    std::size_t history_query_bytes = 200;  ///< of q if each word is scored given the words before it
    std::size_t explained_terms = 20'000;   ///< of all results of one request with explanations
    std::size_t title_bytes = 2048;         ///< of each; longer ones are truncated
    std::size_t body_bytes = 1 << 20;       ///< of a search that is sent as JSON
    std::size_t response_bytes = 16 << 20;  ///< of one response; requests for more are refused
    std::size_t text_bytes = 64 << 10;      ///< of a document's text in one response, by default
    std::size_t max_text_bytes = 1 << 20;   ///< the maximum of that
};

}  // namespace quern::server
