// SPDX-License-Identifier: Apache-2.0
// The macros of manual pages: their arguments, and those of mdoc(7), whose arguments may be macros.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace quern::io {

/// The arguments in the rest of a line: separated by blanks, blanks within quotes stay. Those with quotes lie in `unquoted`.
std::vector<std::string_view> macro_arguments(std::string_view rest, std::vector<std::string>& unquoted);

/// A macro that stands for marks around its arguments, or for one of them.
struct mdoc_enclosure {
    std::string_view macro, open, close;
};
/// Null for other macros.
const mdoc_enclosure* mdoc_enclosure_of(std::string_view macro);

/// Whether it is a macro that may stand among the arguments of others, and no enclosure.
bool is_mdoc_macro(std::string_view word);

/// Whether a word is a mark that follows the word before it without a blank.
bool closes_in_mdoc(std::string_view word);

}  // namespace quern::io
