// SPDX-License-Identifier: Apache-2.0
#include "io/corpus/mail_coding.hpp"

#include <cstdint>

namespace quern::io {
namespace {

int base64_value(char c) {
    if (c >= 'A' && c <= 'Z') return c - 'A';
    if (c >= 'a' && c <= 'z') return c - 'a' + 26;
    if (c >= '0' && c <= '9') return c - '0' + 52;
    if (c == '+' || c == '-') return 62;
    if (c == '/' || c == '_') return 63;
    return -1;
}

int hex(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    const char small = static_cast<char>(c | 32);
    return small >= 'a' && small <= 'f' ? small - 'a' + 10 : -1;
}

}  // namespace

std::string from_base64(std::string_view text) {
    std::string out;
    out.reserve(text.size() / 4 * 3);
    std::uint32_t bits = 0;
    int held = 0;
    for (const char c : text) {
        const int value = base64_value(c);
        if (c == '=') held = 0;  // the next sign begins a new group
        if (value < 0) continue;
        bits = bits << 6 | static_cast<std::uint32_t>(value);
        held += 6;
        if (held < 8) continue;
        held -= 8;
        out += static_cast<char>(bits >> held & 0xff);
    }
    return out;
}

std::string from_quoted_printable(std::string_view text, bool in_word) {
    std::string out;
    out.reserve(text.size());
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        if (in_word && c == '_') {
            out += ' ';
        } else if (c != '=') {
            out += c;
        } else if (i + 2 < text.size() && hex(text[i + 1]) >= 0 && hex(text[i + 2]) >= 0) {
            out += static_cast<char>(hex(text[i + 1]) * 16 + hex(text[i + 2]));
            i += 2;
        } else {
            std::size_t end = i + 1;
            while (end < text.size() && (text[end] == ' ' || text[end] == '\t' || text[end] == '\r')) ++end;
            const bool joins = end == text.size() || text[end] == '\n';
            if (joins) i = end;
            if (!joins) out += c;
        }
    }
    return out;
}

}  // namespace quern::io
