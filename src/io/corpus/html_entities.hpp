// SPDX-License-Identifier: Apache-2.0
// HTML character references to UTF-8, as browsers read them.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace quern::io {

/// The table for decode_reference: "name=HEX.HEX name=HEX …", sorted.
extern const std::string_view named_references;

/// `text` begins with '&'. Appends the characters of the reference there and returns its length in bytes, including the
/// ';'; 0, with nothing appended, if there is no reference. A reference to a control character, a surrogate or beyond
/// Unicode is consumed and yields nothing; 128 to 159 are windows-1252.
std::size_t decode_reference(std::string_view text, std::string& out);

/// The same by the rules of HTML pages: a ';' may be missing after a number, and after one of the 106 names that HTML
/// has always read so ("&copy 2024", "&notit;" as "¬it;"). Within an attribute's value such a name counts only if no
/// letter, digit or '=' follows. A number that denotes no character yields U+FFFD.
std::size_t decode_html_reference(std::string_view text, bool in_attribute, std::string& out);

/// All references of `text` decoded, once.
std::string decode_references(std::string_view text);

}  // namespace quern::io
