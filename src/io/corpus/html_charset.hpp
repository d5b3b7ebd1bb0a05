// SPDX-License-Identifier: Apache-2.0
// Decodes a page whose encoding is declared in the page.
#pragma once

#include <string>
#include <string_view>

namespace quern::io {

/// In this order: a byte-order mark; valid UTF-8, whatever is declared (except for encodings with escape sequences);
/// the declared encoding (<meta charset>, http-equiv, an XML declaration); else as repair_utf8 does; `done` describes
/// the repair.
std::string decode_html(std::string_view bytes, std::string& done);

/// By the encoding that browsers use for a name ("latin1" is Windows-1252); false if there is none of this name.
bool decode_as_browsers(std::string_view bytes, std::string_view name, std::string& out);

/// A text of which a header names the encoding (it may be empty): a byte-order mark, valid UTF-8, and a name that is known
/// count in this order; else the repair of decode_text, described in `done`.
std::string decode_labelled(std::string_view bytes, std::string_view name, std::string& done);

/// The page with a byte-order mark, in UTF-8, if a header's encoding is to be used, so that decode_html takes it;
/// otherwise empty: the page declares its encoding itself, as decode_html finds it.
std::string page_by_header(std::string_view bytes, std::string_view name);

}  // namespace quern::io
