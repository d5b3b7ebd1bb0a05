// SPDX-License-Identifier: Apache-2.0
#include "io/corpus/percent.hpp"

namespace quern::io {
namespace {

int hex(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    const char l = static_cast<char>(c | 32);
    return l >= 'a' && l <= 'f' ? l - 'a' + 10 : -1;
}

}  // namespace

std::string percent_decoded(std::string_view text) {
    std::string out;
    out.reserve(text.size());
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] == '%' && i + 2 < text.size() && hex(text[i + 1]) >= 0 && hex(text[i + 2]) >= 0) {
            out += static_cast<char>(hex(text[i + 1]) * 16 + hex(text[i + 2]));
            i += 2;
        } else if (text[i] != '\n' && text[i] != '\t' && text[i] != '\r') {
            out += text[i];
        }
    }
    return out;
}

}  // namespace quern::io
