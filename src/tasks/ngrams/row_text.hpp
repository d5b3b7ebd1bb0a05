// SPDX-License-Identifier: Apache-2.0
// Rows of n-grams as text: the same output as row_writer's, faster.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "quern/base/rows.hpp"
#include "tasks/ngrams/document_rows.hpp"
#include "tasks/ngrams/ngram_corpus.hpp"

namespace quern {

/// The words of the n-gram at a word of a document, separated by spaces.
void append_words(std::string& out, const ngram_corpus& corpus, std::uint64_t position, unsigned n);
/// Those with these ids.
void append_words(std::string& out, const ngram_corpus& corpus, std::span<const std::uint32_t> ids);
/// Whether all words are fields of TSV as they are: most are, and then nobody looks at each letter of each row.
bool are_plain_words(const ngram_corpus& corpus);

/// Thread-safe.
class row_text {
  public:
    /// TSV or JSON lines.
    row_text(const ngram_corpus& corpus, row_format format, std::span<const std::string> columns);

    template <class Row>
    void append(std::string& out, std::span<const Row> rows) const;

  private:
    void append_field(std::string& out, std::string_view text) const;

    const ngram_corpus& corpus_;
    bool json_;
    std::vector<std::string> before_;  ///< the text before each column's value
    std::string end_;
    std::size_t fixed_letters_ = 0;  ///< of a row, at most: all but the document's name and the words
    bool words_are_plain_ = false;   ///< each is its own text in a row
};

}  // namespace quern
