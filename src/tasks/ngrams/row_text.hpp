// SPDX-License-Identifier: Apache-2.0
// Rows of n-grams as text: what row_writer writes of them, made faster.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "quern/base/rows.hpp"
#include "tasks/ngrams/document_rows.hpp"
#include "tasks/ngrams/ngram_corpus.hpp"

namespace quern {

/// The words of an n-gram that begins at a word of a document, with spaces between.
void append_words(std::string& out, const ngram_corpus& corpus, std::uint64_t position, unsigned n);

/// Any threads at once.
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
    std::vector<std::string> before_;  ///< what stands before each column's value
    std::string end_;
};

}  // namespace quern
