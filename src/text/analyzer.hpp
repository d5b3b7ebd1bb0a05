// SPDX-License-Identifier: Apache-2.0
// Text to words: segmentation, normalisation, stop words, stemming, in one pass.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "quern/base/context.hpp"
#include "quern/base/text_options.hpp"

namespace quern::text {

/// One word: its final form in token_list::words, and the bytes of the source it came from.
struct token {
    std::uint32_t word_begin, word_end;
    std::uint32_t source_begin, source_end;
};

/// The words of one text in order. Reuse one list over many texts: it keeps its memory.
struct token_list {
    std::string words;
    std::vector<token> tokens;
    /// With boundaries asked for: for every sentence (paragraph), the number of tokens before its end;
    /// rising, the last equals tokens.size() unless there are no tokens. Empty otherwise.
    std::vector<std::uint32_t> sentence_ends;
    std::vector<std::uint32_t> paragraph_ends;

    std::string_view word(const token& t) const {
        return std::string_view(words).substr(t.word_begin, t.word_end - t.word_begin);
    }
};

enum class boundaries {
    none,
    paragraphs,       ///< without sentences, which cost more than words do
    line_paragraphs,  ///< the same, every line being a paragraph
    sentences_and_paragraphs,
};

/// What becomes of a word that is too short or a stop word.
enum class dropped_words {
    left_out,
    keep_place,  ///< its token stays, with an empty word: distances between words are as in the text
};

/// One per thread: it holds scratch space and ICU's iterators. Deterministic: the same options, text and
/// Unicode version give the same words.
class analyzer {
  public:
    /// Throws usage_error for an unknown language, stop list or unreadable stop-word file.
    explicit analyzer(const text_options& options);
    /// With these stop words, as a list has them, whatever options.stop_words names.
    analyzer(const text_options& options, std::span<const std::string> stop_words);
    ~analyzer();
    analyzer(analyzer&&) noexcept;
    analyzer& operator=(analyzer&&) noexcept;

    /// Replaces `out` by the words of `text` (UTF-8, under 4 GiB; an ill-formed sequence separates words).
    void analyze(std::string_view text, token_list& out, boundaries wanted = boundaries::none,
                 dropped_words dropped = dropped_words::left_out);
    /// The same for the corpus form `lines`: every line is one word, verbatim.
    static void take_lines(std::string_view text, token_list& out);

  private:
    struct state;
    std::unique_ptr<state> state_;
};

/// "15.0" and so on: the version of the Unicode data in use, which a store records.
std::string unicode_version();
/// Warns where what lies at `path` was made with another version: it may cut words otherwise.
void warn_of_other_unicode(const std::filesystem::path& path, const std::string& made_with,
                           const context& run);

}  // namespace quern::text
