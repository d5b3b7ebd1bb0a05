// SPDX-License-Identifier: Apache-2.0
// Scores a long document by all threads. Its text is cut into pieces between words; each is scored by itself, and a step in
// order joins them. Where a piece begins within a sentence (or within a text that has none), its first words depend on words of
// the piece before: there are fewer of them than the order of the model, and the step in order scores these. It adds the
// logarithms of the rest one by one, so that a sum is in the order of the words, whatever the pieces are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "quern/base/context.hpp"
#include "quern/base/document.hpp"
#include "tasks/corpus/document_cuts.hpp"
#include "tasks/language_model/text_scorer.hpp"
#include "text/text_cuts.hpp"

namespace quern {

class document_scorer::long_text {
  public:
    /// A text of more bytes is long: it has many pieces, or needs more memory than an ordinary document.
    static std::size_t long_bytes(const context& ctx);

    /// Both must outlive it.
    long_text(document_scorer& of, const context& ctx, std::size_t piece_bytes = piece_bytes_of_document)
        : of_(of), ctx_(ctx), piece_bytes_(piece_bytes) {}

    /// The bytes of the largest piece: more than were asked for where a text has no place to be cut.
    std::size_t largest_piece(const document& d) const;

    using score_sink = std::function<void(const text_score&)>;
    using word_sink = std::function<void(std::span<const double>)>;
    /// Calls `sink` for each sentence, in order, or once for the document: the scores of document_scorer::series, to the bit.
    /// `on_word`: see text_scorer; called in the order of the words. Runs within run_parallel(), and within a step of a pipeline.
    void score(const document& d, const score_sink& sink, const word_sink& on_word = {});

  private:
    struct piece;
    class piece_scorer;
    class joiner;

    text::text_cut cut_after(const document& d, std::size_t from) const;
    void score_piece(const document& d, piece& p, bool keeps_probabilities) const;
    /// How many words before a word count, and at least one.
    std::size_t history_words() const;

    document_scorer& of_;
    const context& ctx_;
    const std::size_t piece_bytes_;
};

}  // namespace quern
