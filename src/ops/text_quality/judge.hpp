// SPDX-License-Identifier: Apache-2.0
// Applies the chosen rules to texts, group by group. The rules of C4 and RefinedWeb drop lines: the groups after them see
// the text that is left.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "ops/text_quality/repetition.hpp"
#include "ops/text_quality/words.hpp"
#include "quern/ops/text_quality.hpp"

namespace quern::text_quality {

/// A document's value, as a fraction.
struct measured {
    std::uint64_t numerator = 0, denominator = 1;
    double value() const {
        return denominator == 0 ? 0 : static_cast<double>(numerator) / static_cast<double>(denominator);
    }
};

struct verdict {
    std::optional<std::uint32_t> rule;  ///< the first that the text does not pass; none: it is kept
    measured value;                     ///< of this rule; 1 for those without a limit
};

/// One thread at a time. Contract class: exact. Cost: one pass over the text for each group; words are found if a rule needs
/// them, those of a long text at most twice between groups that drop lines. Memory: judge_memory.hpp.
class judge {
  public:
    /// `choice` and `words` must outlive it. The lists of rule_kind::words must be read: chosen_rule::words.
    judge(const rule_choice& choice, text_words& words);

    /// Judges a text; the next call forgets it.
    verdict apply(std::string_view text);
    /// After apply(): the text without the lines dropped.
    std::string_view text() const { return text_; }
    /// Whether that is another text.
    bool is_changed() const { return is_changed_; }
    /// Releases what a long text needed, and forgets it.
    void forget();

  private:
    using limits = std::span<const chosen_rule>;
    bool passes(std::uint32_t rule, const chosen_rule& setting, measured value);
    bool apply_group(const chosen_group& group);
    bool apply_length(limits chosen, std::uint32_t first);
    bool apply_gopher_quality(limits chosen);
    bool apply_repetition(limits chosen);
    bool apply_c4(limits chosen);
    bool apply_c4_paragraphs(limits chosen);
    bool apply_fineweb(limits chosen);
    bool apply_refinedweb(limits chosen);

    struct word_counts {
        std::uint64_t words = 0, plain = 0, plain_characters = 0, with_letter = 0;
    };
    /// Whether the text is too long to keep its words.
    bool is_long() const;
    void find_words();
    void count_long();
    void read_long();
    void count(std::span<const quality_word> words);
    void find_stop_words(std::span<const quality_word> words);
    bool counts_ngrams_of_this_text() const;
    const word_counts& counted();
    std::uint64_t characters_of_text();
    std::uint64_t different_stop_words();
    void find_ngrams();
    void forget_words();
    void take_next();

    const rule_choice& choice_;
    std::size_t group_ = 0;  ///< that is applied
    text_words& source_;
    std::string_view text_;
    std::string made_, next_;  ///< the text without dropped lines
    bool is_changed_ = false;
    std::optional<std::span<const quality_word>> words_;
    std::optional<word_counts> counts_;
    std::optional<std::uint64_t> characters_;
    repeated_parts parts_;
    repeated_ngrams ngrams_;
    bool has_ngrams_ = false;  ///< of `text_`
    std::unordered_map<std::string_view, std::uint32_t> stop_words_;
    std::vector<bool> seen_;
    std::optional<std::uint64_t> stop_words_found_;
    verdict verdict_;
};

/// num / den, which is 0 if den is, compared with a limit: -1, 0, 1.
int compare(measured value, const decimal& limit);

/// Sentences of a line: each ends with marks that end sentences and with what closes after them. Marks of ASCII end one
/// only before white space or the end of the line.
std::uint64_t sentences(std::string_view line);

/// The line without the citations of C4.
void append_without_citations(std::string_view line, std::string& out);

}  // namespace quern::text_quality
