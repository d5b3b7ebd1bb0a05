// SPDX-License-Identifier: Apache-2.0
// Decodes UTF-8 by the ranges that Unicode allows for the second byte, which excludes overlong forms and surrogates.
#include "base/utf8.hpp"

namespace quern {

char32_t next_utf8(std::string_view text, std::size_t& at) {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    const unsigned char lead = byte(at++);
    if (lead < 0x80) return lead;
    if (lead < 0xC2 || lead > 0xF4) return ill_formed;
    const int tails = lead < 0xE0 ? 1 : lead < 0xF0 ? 2 : 3;
    char32_t point = lead & (0x3Fu >> tails);
    unsigned char low = 0x80;
    unsigned char high = 0xBF;
    if (lead == 0xE0) low = 0xA0;
    if (lead == 0xED) high = 0x9F;
    if (lead == 0xF0) low = 0x90;
    if (lead == 0xF4) high = 0x8F;
    for (int i = 0; i < tails; ++i) {
        if (at == text.size() || byte(at) < low || byte(at) > high) return ill_formed;
        point = point << 6 | (byte(at++) & 0x3Fu);
        low = 0x80;
        high = 0xBF;
    }
    return point;
}

void append_utf8(char32_t point, std::string& out) {
    const auto tail = [&](int shift) { out += static_cast<char>(0x80 | ((point >> shift) & 0x3F)); };
    if (point < 0x80) {
        out += static_cast<char>(point);
    } else if (point < 0x800) {
        out += static_cast<char>(0xC0 | (point >> 6));
        tail(0);
    } else if (point < 0x10000) {
        out += static_cast<char>(0xE0 | (point >> 12));
        tail(6);
        tail(0);
    } else {
        out += static_cast<char>(0xF0 | (point >> 18));
        tail(12);
        tail(6);
        tail(0);
    }
}

}  // namespace quern
