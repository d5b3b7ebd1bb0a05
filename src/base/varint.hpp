// SPDX-License-Identifier: Apache-2.0
// Variable-length integers: seven bits a byte, low bits first; the high bit means that more follow (LEB128).
#pragma once

#include <cstdint>
#include <string>

namespace quern {

inline void append_varint(std::string& out, std::uint64_t value) {
    while (value >= 0x80) {
        out.push_back(static_cast<char>(value | 0x80));
        value >>= 7;
    }
    out.push_back(static_cast<char>(value));
}

/// Reads one at `p` and advances `p` past it. The caller guarantees that a whole one is there (10 bytes at most).
inline std::uint64_t read_varint(const char*& p) {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        const auto byte = static_cast<unsigned char>(*p++);
        value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
        if (byte < 0x80) break;
    }
    return value;
}

}  // namespace quern
