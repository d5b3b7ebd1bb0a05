// SPDX-License-Identifier: Apache-2.0
// The words of documents: those of their texts by the text options, word lines as they are.
#pragma once

#include <oneapi/tbb/enumerable_thread_specific.h>

#include "quern/base/document.hpp"
#include "quern/base/text_options.hpp"
#include "text/analyzer.hpp"

namespace quern {

/// Any threads at once.
class document_words {
  public:
    /// Throws as text::analyzer does: options that are refused are so before the work.
    explicit document_words(const text_options& text) : analyzers_([text] { return text::analyzer(text); }) {
        analyzers_.local();
    }

    /// Until this thread asks for the next ones.
    const text::token_list& of(const document& d, text::boundaries wanted = text::boundaries::none,
                               text::dropped_words dropped = text::dropped_words::left_out) {
        text::token_list& words = words_.local();
        if (d.verbatim) {
            text::analyzer::take_lines(d.text, words);
        } else {
            analyzers_.local().analyze(d.text, words, wanted, dropped);
        }
        return words;
    }

  private:
    tbb::enumerable_thread_specific<text::analyzer> analyzers_;
    tbb::enumerable_thread_specific<text::token_list> words_;
};

}  // namespace quern
