// SPDX-License-Identifier: Apache-2.0
// Words without accents: what people leave out when they type.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "quern/text/analyzer.hpp"

namespace quern::text {

/// The form of a normalised word (NFKC_Casefold) without accents, in NFC. docs/text.md has the rule:
/// - marks (Mn) after a Latin or Greek letter are dropped (é, ő, ά);
/// - of Cyrillic only the stress mark on a vowel and the diaeresis of ё, so that й and ї stay;
/// - Hebrew points and accents, Arabic vowel signs and hamza marks, and the tatweel are dropped;
/// - Latin letters with a slash and the like become plain: æ ae, œ oe, ø o, đ d, ð d, þ th, ħ h, ı i, ł l, ŧ t;
/// - all else stays, so vowel signs of other scripts and voiced kana do. A word of marks alone stays.
/// Idempotent. One per thread.
class accent_folder {
  public:
    accent_folder();
    ~accent_folder();
    accent_folder(const accent_folder&) = delete;
    accent_folder& operator=(const accent_folder&) = delete;

    /// Valid until the next call.
    std::string_view fold(std::string_view word);
    /// Folds the words of a list in place.
    void fold(token_list& list);

  private:
    struct state;
    std::unique_ptr<state> state_;
};

/// The same for one word. Thread-safe.
std::string without_accents(std::string_view word);

}  // namespace quern::text
