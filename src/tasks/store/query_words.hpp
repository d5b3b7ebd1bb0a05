// SPDX-License-Identifier: Apache-2.0
// Words that ask a store are read as its documents were.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tasks/store/opened_store.hpp"
#include "text/analyzer.hpp"

namespace quern {

/// One per thread. Throws as with_stop_words_of.
class query_words {
  public:
    explicit query_words(const opened_store& store);
    /// The words of `text` in order. In a store of words taken as they are, blanks stand for the ends of their lines.
    std::vector<std::string> words_of(std::string_view text);

  private:
    bool verbatim_;
    text::analyzer analyzer_;
};

/// Words that stand on lines of their own in a collection stand between blanks in a query: each blank as the end of a line.
std::string lines_for_blanks(std::string_view text);

}  // namespace quern
