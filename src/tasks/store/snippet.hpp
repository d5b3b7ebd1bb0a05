// SPDX-License-Identifier: Apache-2.0
// The passage of a document that shows best why it answers a query.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "text/analyzer.hpp"

namespace quern {

/// A passage of at most about `max_bytes` of `text`, in one line, cut at words, "…" where something is left
/// out. Of all stretches between words it is the one that holds the most different query words and phrases, then the
/// most of them, then the first; without any, the beginning of the text. `words` are the text's own (from the
/// analyzer of the store), `wanted` the query's, sorted; a phrase counts where all its words stand together.
std::string snippet(std::string_view text, const text::token_list& words, std::span<const std::string> wanted,
                    std::span<const std::vector<std::string>> phrases, std::size_t max_bytes);

}  // namespace quern
