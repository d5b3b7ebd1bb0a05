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

/// Holds a table filled as characters are met: one per thread.
class case_folding {
  public:
    case_folding();
    /// The folded form of `word` (an ill-formed sequence becomes U+FFFD); valid until the next call.
    std::string_view fold(std::string_view word);

  private:
    // What a character becomes, and what it may do to its neighbours:
    //   kept    itself; combining class `low`; never composes with what is before it
    //   mapped  another character, the code point `low`, with a normalisation boundary before it
    //   gone    nothing
    //   asked   anything else: ICU decides on the whole word
    enum class kind : std::uint32_t { unseen, kept, mapped, gone, asked };
    struct entry {
        std::uint32_t kind : 3;
        std::uint32_t low : 21;
    };

    entry look_up(char32_t c);
    entry examine(char32_t c) const;
    std::string_view fold_by_icu(std::string_view word);

    const icu::Normalizer2* folding_;
    std::vector<std::unique_ptr<entry[]>> blocks_;  // of 128 code points, null until met
    struct folded {
        std::string word, form;
    };
    std::vector<folded> cache_;  // by hash, of words for which ICU was asked; the last slot is for long ones
    std::vector<char> form_;
};

}  // namespace quern::text
