// SPDX-License-Identifier: Apache-2.0
// The characters of a page whose encoding the page itself declares.
#pragma once

#include <string>
#include <string_view>

namespace quern::io {

/// A byte-order mark decides; bytes that are valid UTF-8 are UTF-8 whatever is declared (but for encodings that
/// shift by escape sequences); else the declared encoding (<meta charset>, http-equiv, an XML declaration); else
/// what mend_utf8 does, told in `done`.
std::string decode_html(std::string_view bytes, std::string& done);

}  // namespace quern::io
