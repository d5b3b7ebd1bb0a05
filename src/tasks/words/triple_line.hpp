// SPDX-License-Identifier: Apache-2.0
// One line of a parser's triples.
#pragma once

#include <cstdint>
#include <string_view>

namespace quern {

/// A line's fields, views into it; or the problem.
struct triple_line {
    std::string_view word, relation, other;
    std::uint64_t count = 1;
    const char* fault = nullptr;  ///< "has an empty field"; null for a triple
};

/// `word TAB relation TAB other word [TAB count]`, without the line's end. Accepts any bytes; a triple is UTF-8.
triple_line parse_triple(std::string_view line);

}  // namespace quern
