// SPDX-License-Identifier: Apache-2.0
// A text as its words, for the quality rules. The caller splits it, with the module text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/function_ref.hpp"

namespace quern::text_quality {

struct quality_word {
    std::uint32_t begin, end;    ///< bytes of the text
    std::uint32_t characters;    ///< code points
    bool has_letter, is_symbol;  ///< symbol: all its characters are punctuation
};

/// The words of a longer text are found in parts, rather than kept.
inline constexpr std::size_t longest_text_at_once = 1 << 20;

/// What the rules need of a text besides its bytes.
class text_words {
  public:
    virtual ~text_words() = default;
    /// The words of a text, valid until the next call.
    virtual std::span<const quality_word> words_of(std::string_view text) = 0;
    /// The same words in parts, so that those of a long text need little memory.
    using take_words = function_ref<void(std::span<const quality_word>)>;
    virtual void words_in_parts(std::string_view text, take_words take) { take(words_of(text)); }
    /// Whether the text has one of the listed words (c4.bad-words).
    virtual bool has_bad_word(std::string_view text) = 0;
    /// Letters of a text, and upper-case ones among them.
    struct letter_counts {
        std::uint64_t letters = 0, upper_case = 0, digits = 0;
    };
    virtual letter_counts letters_of(std::string_view text) = 0;
};

}  // namespace quern::text_quality
