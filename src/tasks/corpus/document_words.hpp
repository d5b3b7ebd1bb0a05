// SPDX-License-Identifier: Apache-2.0
// The words of documents: those of their texts by the text options, word lines as they are; those of titles in front where
// they are asked for.
#pragma once

#include <oneapi/tbb/enumerable_thread_specific.h>

#include <cstdint>

#include "quern/base/document.hpp"
#include "quern/base/text_options.hpp"
#include "text/analyzer.hpp"

namespace quern {

/// What becomes of the words of titles.
enum class title_words { left_out, in_front };

/// Any threads at once.
class document_words {
  public:
    /// Throws as text::analyzer does: options that are refused are so before the work.
    explicit document_words(const text_options& text, title_words titles = title_words::left_out)
        : titles_(titles), analyzers_([text] { return text::analyzer(text); }) {
        analyzers_.local();
    }

    /// Until this thread asks for the next ones. Boundaries are those of the text, and are not told where titles are in front.
    const text::token_list& of(const document& d, text::boundaries wanted = text::boundaries::none,
                               text::dropped_words dropped = text::dropped_words::left_out) {
        text::token_list& words = words_.local();
        if (d.verbatim) {
            text::analyzer::take_lines(d.text, words);
        } else {
            analyzers_.local().analyze(d.text, words, wanted, dropped);
        }
        if (titles_ == title_words::left_out || d.title.empty()) return words;
        text::token_list& all = with_titles_.local();
        analyzers_.local().analyze(d.title, all, text::boundaries::none, dropped);
        append(all, words);
        return all;
    }

  private:
    static void append(text::token_list& to, const text::token_list& more) {
        const auto shift = static_cast<std::uint32_t>(to.words.size());
        to.words += more.words;
        for (text::token t : more.tokens) {
            t.word_begin += shift;
            t.word_end += shift;
            to.tokens.push_back(t);
        }
    }

    title_words titles_;
    tbb::enumerable_thread_specific<text::analyzer> analyzers_;
    tbb::enumerable_thread_specific<text::token_list> words_, with_titles_;
};

}  // namespace quern
