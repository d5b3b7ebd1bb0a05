// SPDX-License-Identifier: Apache-2.0
// Names that wikis share and that dumps omit: case-folded, with single spaces.
#pragma once

#include <string>
#include <string_view>

namespace quern::io {

/// Key of a namespace known in every wiki by this name (English, or a localised alias of File and Category); 0 if there
/// is none.
int shared_namespace(std::string_view folded);
/// A Wikipedia's language code, as before the ':' of a language link.
bool is_language_code(std::string_view folded);
/// The prefix of a sister project or another site.
bool is_site_prefix(std::string_view folded);
/// The word after '#' that makes a page a redirect, in any language.
bool is_redirect_word(std::string_view folded);
/// Whether __WORD__ is a switch and not text; `word` without the underscores, as written.
bool is_behaviour_switch(std::string_view word);

/// Full case folding, '_' and runs of white space as one space, ends trimmed.
std::string folded_name(std::string_view name);

}  // namespace quern::io
