// SPDX-License-Identifier: Apache-2.0
// Decodes a page whose encoding is declared in the page.
#pragma once

#include <string>
#include <string_view>

namespace quern::io {

/// In this order: a byte-order mark; valid UTF-8, whatever is declared (except for encodings with escape sequences);
/// the declared encoding (<meta charset>, http-equiv, an XML declaration); else the repair of mend_utf8, described in
/// `done`.
std::string decode_html(std::string_view bytes, std::string& done);

}  // namespace quern::io
