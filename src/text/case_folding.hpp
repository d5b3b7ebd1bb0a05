// SPDX-License-Identifier: Apache-2.0
// NFKC case folding (Unicode's NFKC_Casefold) of UTF-8, a word at a time.
#pragma once

#include <unicode/normalizer2.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace quern::text {

/// Holds a table that is filled on first use of each character: one per thread.
class case_folding {
  public:
    case_folding();
    struct form {
        std::string_view text;
        bool has_white_space = false;  ///< some characters become blanks, or strings with blanks
    };
    /// The folded form of `word` (an ill-formed sequence becomes U+FFFD); valid until the next call.
    form fold(std::string_view word);

    /// Longer words must be folded in pieces: a character may become eighteen.
    static constexpr std::size_t longest_whole = 4096;
    /// Where a piece of a long word, which begins at `from`, may end: the concatenated forms of such pieces are the
    /// word's form.
    std::size_t end_of_piece(std::string_view word, std::size_t from) const;

  private:
    // The result for a character, and its effect on neighbours:
    //   kept    itself; combining class `low`; never composes with what is before it
    //   mapped  another character, the code point `low`, with a normalisation boundary before it
    //   gone    nothing
    //   asked   anything else, including white space: ICU decides on the whole word
    enum class kind : std::uint32_t { unseen, kept, mapped, gone, requested };
    struct entry {
        std::uint32_t kind : 3;
        std::uint32_t low : 21;
    };

    entry look_up(char32_t c);
    entry examine(char32_t c) const;
    form fold_by_icu(std::string_view word);

    const icu::Normalizer2* folding_;
    std::vector<std::unique_ptr<entry[]>> blocks_;  // of 128 code points, null until used
    struct folded {
        std::string word, form;
        bool has_white_space = false;
    };
    std::vector<folded> cache_;  // by hash, of words folded by ICU; the last slot is for long ones
    std::vector<char> form_;
};

}  // namespace quern::text
