// SPDX-License-Identifier: Apache-2.0
// Classification of the bytes of a text, for any compiler: the rules of cut_lines and cut_runs, byte by byte.
#pragma once

#include <cstdint>

namespace quern::primitives::text_bytes {

/// Whether a byte belongs to a word in a run of letters (and digits).
constexpr bool in_run(std::uint8_t byte, bool digits) {
    const bool letter = static_cast<std::uint8_t>((byte | 0x20U) - 'a') < 26;
    return letter || (digits && static_cast<std::uint8_t>(byte - '0') < 10);
}

constexpr std::uint8_t lowered(std::uint8_t byte) {
    return static_cast<std::uint8_t>(byte - 'A') < 26 ? static_cast<std::uint8_t>(byte | 0x20U) : byte;
}

/// Whether the line has no more bytes at `at`: the text or the line ends, with or without a CR before.
constexpr bool line_ends(const std::uint8_t* text, std::uint64_t size, std::uint64_t at) {
    if (at >= size || text[at] == '\n') return true;
    return text[at] == '\r' && (at + 1 == size || text[at + 1] == '\n');
}

/// Whether the line before the one that begins at `begin` is empty, or there is none.
constexpr bool after_empty_line(const std::uint8_t* text, std::uint64_t begin) {
    if (begin == 0) return true;
    std::uint64_t end = begin - 1;  // of the previous line: its LF
    if (end > 0 && text[end - 1] == '\r') --end;
    return end == 0 || text[end - 1] == '\n';
}

}  // namespace quern::primitives::text_bytes
