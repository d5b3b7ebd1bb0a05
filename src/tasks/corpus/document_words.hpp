// SPDX-License-Identifier: Apache-2.0
// The words of documents: those of their texts by the text options, or unchanged word lines; preceded by those of
// titles on request.
#pragma once

#include <oneapi/tbb/enumerable_thread_specific.h>

#include <cstdint>

#include "quern/base/document.hpp"
#include "quern/base/text_options.hpp"
#include "quern/text/analyzer.hpp"

namespace quern {

/// Use of the words of titles.
enum class title_words { excluded, in_front };

/// Thread-safe.
class document_words {
  public:
    /// Throws as text::analyzer does: invalid options are refused before the work.
    explicit document_words(const text_options& text, title_words titles = title_words::excluded)
        : titles_(titles), analyzers_([text] { return text::analyzer(text); }) {
        analyzers_.local();
    }

    /// Valid until this thread's next call. Boundaries refer to the text, and are omitted if title words precede it.
    const text::token_list& of(const document& d, text::boundaries wanted = text::boundaries::none,
                               text::dropped_words dropped = text::dropped_words::excluded) {
        text::token_list& words = words_.local();
        if (d.verbatim) {
            text::analyzer::take_lines(d.text, words);
        } else {
            analyzers_.local().analyze(d.text, words, wanted, dropped);
        }
        if (titles_ == title_words::excluded || d.title.empty()) return words;
        text::token_list& all = with_titles_.local();
        analyzers_.local().analyze(d.title, all, text::boundaries::none, dropped);
        append(all, words);
        return all;
    }

    /// The same words without boundaries, chunk by chunk: calls `sink` with each list, so that a long text's words are
    /// never all in memory.
    template <class Sink>
    void for_each_piece(const document& d, const Sink& sink) {
        text::token_list& words = words_.local();
        if (titles_ == title_words::in_front && !d.title.empty()) {
            analyzers_.local().analyze(d.title, words);
            sink(words);
        }
        if (d.verbatim) {
            text::analyzer::take_lines(d.text, words);
            sink(words);
        } else {
            analyzers_.local().analyze_in_pieces(d.text, words, sink);
        }
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
