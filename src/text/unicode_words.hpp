// SPDX-License-Identifier: Apache-2.0
// Words by Unicode's boundaries, in NFKC case-folded form.
#pragma once

#include <unicode/brkiter.h>
#include <unicode/locid.h>
#include <unicode/unistr.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "quern/text/analyzer.hpp"
#include "text/break_rules.hpp"
#include "text/byte_masks.hpp"
#include "text/case_folding.hpp"
#include "text/chinese_scripts.hpp"
#include "text/word_writer.hpp"

namespace quern::text {

/// An ICU iterator over chunks of UTF-8.
class icu_boundaries {
  public:
    icu_boundaries(break_rules::kind wanted, const icu::Locale& locale);
    const icu::BreakIterator& iterator() const { return *iterator_; }

    /// Calls found(begin, end, is_word) for every segment of text[begin, end).
    template <class Found>
    void divide(std::string_view text, std::size_t begin, std::size_t end, Found&& found) {
        load(text.substr(begin, end - begin));
        iterator_->setText(units_);
        std::int32_t from = iterator_->first();
        for (std::int32_t to = iterator_->next(); to != icu::BreakIterator::DONE; to = iterator_->next()) {
            found(begin + offsets_[static_cast<std::size_t>(from)],
                  begin + offsets_[static_cast<std::size_t>(to)],
                  iterator_->getRuleStatus() >= UBRK_WORD_NUMBER);
            from = to;
        }
    }

  private:
    void load(std::string_view text);

    std::unique_ptr<icu::BreakIterator> iterator_;
    icu::UnicodeString units_;
    std::vector<std::uint32_t> offsets_;  // in UTF-8, of every unit and of the end
};

/// Which fast paths to use: tests compare each with the next.
enum class word_path {
    best,   ///< masks over ASCII, ICU's rules run by Quern, ICU for dictionaries
    rules,  ///< the same without the masks
    icu,    ///< ICU for everything: the fallback if its rules cannot be read
};

class unicode_words {
  public:
    enum class chinese {
        as_it_is,
        in_both_scripts,  ///< divided in either script, of which the longer words count: the same in both
    };

    explicit unicode_words(const icu::Locale& locale, word_path path = word_path::best,
                           chinese how = chinese::as_it_is);
    /// Appends the words of `text`.
    void find(std::string_view text, token_list& out) { find(text, 0, text.size(), out); }
    /// Appends the words from the boundary `from` to a boundary at or after `to`, which it returns.
    std::size_t find(std::string_view text, std::size_t from, std::size_t to, token_list& out);

  private:
    std::size_t find_segments(std::string_view text, std::size_t at, std::size_t to, word_writer& out);
    std::size_t find_by_masks(std::string_view text, std::size_t from, std::size_t to, word_writer& out);
    std::size_t next_segment(std::string_view text, std::size_t begin, word_writer& out);
    std::size_t next_by_dictionary(std::string_view text, std::size_t begin, std::size_t end,
                                   word_writer& out);
    void divide(std::string_view text, std::size_t begin, std::size_t end, word_writer& out);
    void divide_in_both_scripts(std::string_view text, std::size_t begin, std::size_t end, word_writer& out);
    void add(std::string_view text, std::size_t begin, std::size_t end, word_writer& out);
    void add_between_blanks(std::string_view text, std::size_t begin, std::size_t end, word_writer& out);
    void go_on(std::string_view text, std::size_t to, word_writer& out);
    void mark_events(std::size_t& last_safe);

    /// A segment so long that its words are emitted before its end is reached.
    struct long_segment {
        std::size_t end = 0, at = 0;                 ///< before `at` all is folded; `end`: none
        std::size_t piece_begin = 0, piece_end = 0;  ///< the piece between white space that contains `at`
        std::string word;                            ///< of the folded text, not yet ended
        bool is_cut = false;                         ///< it or its folded form has white space
    };

    struct divided {
        std::size_t end;
        bool word;
    };

    word_path path_;
    // If Chinese is divided in both scripts: a chunk in one of them, and its divisions.
    std::optional<script_joiner> simplify_, lengthen_;
    std::string joined_;
    std::vector<divided> simplified_, traditional_;
    long_segment long_;
    std::size_t to_ = 0;  ///< past it, at most a piece of a long segment is needed
    icu_boundaries icu_;
    std::shared_ptr<const break_rules> rules_;  // null with word_path::icu
    case_folding folding_;
    byte_chunk chunk_;
    // Bits of the chunk: where a run of letters and digits or a non-ASCII segment may begin; where a run ends; and
    // which of these the rules must decide.
    chunk_bits events_{}, ends_{}, unclear_{};
};

}  // namespace quern::text
