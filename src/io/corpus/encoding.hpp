// SPDX-License-Identifier: Apache-2.0
// Bytes of any encoding to valid UTF-8.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "io/byte_source.hpp"

namespace quern::io {

bool is_utf8(std::string_view bytes);

/// Makes a text that should be UTF-8 valid, in place. Returns a description of the repair, empty if none was needed. If
/// most of its bytes beyond ASCII form UTF-8, the others become U+FFFD (one for each maximal ill-formed part, as
/// Unicode recommends); else the whole is read as Windows-1252 (Latin-1 with its gaps filled), the usual encoding of
/// old western files.
std::string repair_utf8(std::string& text);

/// The encoding shown by a byte-order mark, or by zero bytes around the first characters of markup.
enum class byte_order { none, utf8, utf16le, utf16be, utf32le, utf32be };
byte_order byte_order_of(std::string_view head);
std::size_t mark_bytes(byte_order order, std::string_view head);

/// UTF-16 or UTF-32 to UTF-8, without its mark; ill-formed units become U+FFFD and are counted.
std::string from_wide(std::string_view bytes, byte_order order, std::size_t& ill_formed);

/// A whole file to UTF-8: by its byte-order mark, else as repair_utf8 does. `done` describes the repair.
std::string decode_text(std::string_view bytes, std::string& done);

/// By an encoding's name ("gb2312", "shift_jis", "windows-1251"); false if ICU does not know it.
bool decode_named(std::string_view bytes, const std::string& name, std::string& out);

/// The same stream with UTF-16 or UTF-32 (detected by its first bytes) converted to UTF-8.
std::unique_ptr<byte_source> as_utf8(std::unique_ptr<byte_source> source, byte_order order);

}  // namespace quern::io
