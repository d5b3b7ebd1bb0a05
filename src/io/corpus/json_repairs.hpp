// SPDX-License-Identifier: Apache-2.0
// JSON that one of the parsers refuses, made readable to it.
#pragma once

#include <string>
#include <string_view>

namespace quern::io {

/// Replaces every escaped lone surrogate by \ufffd. Returns whether it replaced any.
bool mend_surrogates(std::string& line);

/// Replaces numbers that may exceed the range of a double by 0.0, because both parsers stop at one; no relevant member
/// is such a number. Malformed text stays unchanged.
void tame_numbers(std::string& line);

/// Whether there is a NUL, which JSON never has: nlohmann::json takes one for the end of the text.
bool has_nul(std::string_view text);

/// Whether `text` is well-formed JSON; numbers may have any size.
bool is_json(std::string_view text);

}  // namespace quern::io
