// SPDX-License-Identifier: Apache-2.0
// Query words, analysed by the rules of the store's documents.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "quern/text/analyzer.hpp"
#include "tasks/store/opened_store.hpp"

namespace quern {

/// One per thread.
class query_words {
  public:
    explicit query_words(const opened_store& store);
    /// The words of `text` in order; in a store of verbatim words, those of lines_of_query.
    std::vector<std::string> words_of(std::string_view text);

  private:
    bool verbatim_;
    text::analyzer analyzer_;
};

/// The separator of query words if the collection has one word per line: blanks and tabs; if the query has a tab, only
/// tabs, so that words with blanks can be queried.
enum class between_words { blanks, tabs };
between_words between_words_of(std::string_view query);

/// `text` of a query with a line for each word.
std::string lines_of_query(std::string_view text, between_words separators);

}  // namespace quern
