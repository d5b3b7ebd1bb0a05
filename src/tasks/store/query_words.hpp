// SPDX-License-Identifier: Apache-2.0
// Words that ask a store are read as its documents were.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tasks/store/opened_store.hpp"
#include "text/analyzer.hpp"

namespace quern {

/// One per thread.
class query_words {
  public:
    explicit query_words(const opened_store& store);
    /// The words of `text` in order; in a store of words taken as they are, those of lines_of_query.
    std::vector<std::string> words_of(std::string_view text);

  private:
    bool verbatim_;
    text::analyzer analyzer_;
};

/// What separates the words of a query where the collection has each on a line of its own: blanks and tabs; in a query with a
/// tab tabs alone, so that words with blanks can be asked for.
enum class between_words { blanks, tabs };
between_words between_words_of(std::string_view query);

/// `text` of a query with a line for each word.
std::string lines_of_query(std::string_view text, between_words separators);

}  // namespace quern
