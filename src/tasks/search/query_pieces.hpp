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

/// Cuts a query at its quotes, `"` in ASCII. A quote between two letters or digits is part of a word (as in Hebrew
/// abbreviations), and an opening one without a closing one is text. Pieces without text are left out.
std::vector<query_piece> split_at_quotes(std::string_view query);

}  // namespace quern
