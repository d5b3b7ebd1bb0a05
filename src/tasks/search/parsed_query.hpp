// SPDX-License-Identifier: Apache-2.0
// Quotes in a query.
#pragma once

#include <string_view>
#include <vector>

namespace quern {

struct query_piece {
    std::string_view text;
    bool quoted = false;
    friend bool operator==(const query_piece&, const query_piece&) = default;
};

/// Splits a query at its quotes: `"`, or U+201C, U+201D and U+201E, which phones insert instead. None opens after a
/// letter or digit (12" is an inch, and Hebrew has such abbreviations) and none closes before one; an opening one
/// without a closing one is text. Pieces without text are omitted.
std::vector<query_piece> split_at_quotes(std::string_view query);

}  // namespace quern
