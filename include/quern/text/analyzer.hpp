// SPDX-License-Identifier: Apache-2.0
// Text to words: segmentation, normalisation, stop words, stemming, in one pass.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "quern/base/context.hpp"
#include "quern/base/text_options.hpp"

namespace quern::text {

/// One word: its final form in token_list::words, and its source bytes.
struct token {
    std::uint32_t word_begin, word_end;
    std::uint32_t source_begin, source_end;
};

/// The words of one text in order. Reuse one list for many texts: it keeps its memory.
struct token_list {
    std::string words;
    std::vector<token> tokens;
    /// If boundaries are requested: for every sentence (paragraph), the number of tokens before its end. Rising; the
    /// last equals tokens.size() unless there are no tokens. Empty otherwise.
    std::vector<std::uint32_t> sentence_ends;
    std::vector<std::uint32_t> paragraph_ends;
    /// Maximum size of `words`: a text whose words take more throws out_of_memory.
    std::uint32_t max_bytes = UINT32_MAX;

    std::string_view word(const token& t) const {
        return std::string_view(words).substr(t.word_begin, t.word_end - t.word_begin);
    }
};

enum class boundaries {
    none,
    paragraphs,       ///< without sentences, which cost more than words do
    line_paragraphs,  ///< the same, with every line as a paragraph
    sentences_and_paragraphs,
};

/// What happens to a word that is too short or a stop word.
enum class dropped_words {
    excluded,
    keep_place,  ///< its token stays, with an empty word: keeps the distances between words
};

/// One per thread: it holds scratch space and ICU's iterators. Deterministic: the same options, text and Unicode
/// version give the same words.
class analyzer {
  public:
    /// Throws usage_error for an unknown language, stop list or unreadable stop-word file.
    explicit analyzer(const text_options& options);
    /// Uses these stop words, in the form of a list, instead of options.stop_words.
    analyzer(const text_options& options, std::span<const std::string> stop_words);
    ~analyzer();
    analyzer(analyzer&&) noexcept;
    analyzer& operator=(analyzer&&) noexcept;

    /// Replaces `out` by the words of `text` (UTF-8, under 4 GiB; an ill-formed sequence separates words).
    void analyze(std::string_view text, token_list& out, boundaries wanted = boundaries::none,
                 dropped_words dropped = dropped_words::excluded);
    /// The same words, chunk by chunk, so that they are never all in memory: calls `sink` with the words of about 256
    /// KiB at a time (more if a single word is longer), in `scratch`, without boundaries.
    void analyze_in_pieces(std::string_view text, token_list& scratch,
                           const std::function<void(const token_list&)>& sink,
                           dropped_words dropped = dropped_words::excluded);
    /// As analyze(), for the corpus form `lines`: every line is one word, verbatim.
    static void take_lines(std::string_view text, token_list& out);

  private:
    struct state;
    std::unique_ptr<state> state_;
};

/// For example "15.0": the version of the Unicode data in use, which a store records.
std::string unicode_version();
/// Warns if the data at `path` was made with another version, which may segment words differently.
void warn_of_other_unicode(const std::filesystem::path& path, const std::string& made_with,
                           const context& ctx);

}  // namespace quern::text
