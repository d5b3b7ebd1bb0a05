// SPDX-License-Identifier: Apache-2.0
// The words and letters that the quality rules count: words by Unicode's rules or white space, listed words. Not
// thread-safe.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "ops/text_quality/judge_memory.hpp"
#include "ops/text_quality/words.hpp"
#include "quern/ops/text_quality.hpp"
#include "quern/text/analyzer.hpp"

namespace quern {

/// Words and phrases to be found in texts, in any case, between characters that are none of a word. Constant when made.
class bad_words {
  public:
    explicit bad_words(const std::vector<std::string>& list);
    bool empty() const { return by_first_.empty() && others_.empty(); }
    /// Cost: one pass, and a look-up for each word.
    bool is_in(std::string_view text) const;

  private:
    struct hash {
        using is_transparent = void;
        std::size_t operator()(std::string_view text) const;
    };
    /// By the run of letters and numbers with which they begin; and those that begin otherwise.
    std::unordered_map<std::string, std::vector<std::string>, hash, std::equal_to<>> by_first_;
    std::vector<std::string> others_;
};

class filter_words final : public text_quality::text_words {
  public:
    filter_words(word_split split, const bad_words& bad);
    std::span<const text_quality::quality_word> words_of(std::string_view text) override;
    void words_in_parts(std::string_view text, take_words take) override;
    bool has_bad_word(std::string_view text) override { return bad_.is_in(text); }
    letter_counts letters_of(std::string_view text) override;
    /// Releases what a long text needed.
    void forget();
    /// The most bytes that the words of a text need, of which there are at most so many.
    static std::uint64_t memory_of_words(std::string_view text, const text_quality::word_bounds& most);

  private:
    /// Adds the words of a part, which begins at `from` of the text.
    void add_words(std::string_view text, std::size_t from, std::size_t to);
    void add(std::string_view text, std::size_t begin, std::size_t end);
    void pass_on();
    void add_symbols(std::string_view text, std::size_t begin, std::size_t end);

    word_split split_;
    const bad_words& bad_;
    text::analyzer analyzer_;
    text::token_list tokens_;
    std::vector<text_quality::quality_word> words_;
    const take_words* take_ = nullptr;  ///< receives the words of parts
};

}  // namespace quern
