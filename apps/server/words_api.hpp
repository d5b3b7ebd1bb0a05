// SPDX-License-Identifier: Apache-2.0
// /api/words: the words of a query, each with words that the collection uses alike.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "quern/tasks/search.hpp"
#include "server/json_writer.hpp"
#include "server/site_limits.hpp"

namespace quern::server {

/// The member `similar`: the words most similar to one of the thesaurus; empty for a stop word. Throws `interrupted`.
void write_similar_words(json_writer& json, const word_space& thesaurus, std::optional<std::uint32_t> word,
                         std::uint32_t k, const context& ctx);

/// The result has no words if the store has no thesaurus. Throws bad_request for invalid parameters,
/// `interrupted` if the stop flag is set.
std::string words_json(const search_engine& engine, std::string_view query, const site_limits& limits,
                       const context& ctx);

}  // namespace quern::server
