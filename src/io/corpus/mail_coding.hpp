// SPDX-License-Identifier: Apache-2.0
// The two encodings of bytes as ASCII that mail has. Wrong signs are skipped or kept as they are, as mail readers do.
#pragma once

#include <string>
#include <string_view>

namespace quern::io {

/// Up to the padding; all signs of no meaning are skipped, and so are further paddings.
std::string from_base64(std::string_view text);

/// "=C3=A4" as two bytes; "=" at the end of a line joins it with the next. `in_word`: "_" is a blank (RFC 2047).
std::string from_quoted_printable(std::string_view text, bool in_word);

}  // namespace quern::io
