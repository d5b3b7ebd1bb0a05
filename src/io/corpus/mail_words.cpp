// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/ascii.hpp"
#include "io/corpus/encoding.hpp"
#include "io/corpus/header_fields.hpp"
#include "io/corpus/html_charset.hpp"
#include "io/corpus/mail.hpp"
#include "io/corpus/mail_coding.hpp"

namespace quern::io {
namespace {

/// "=?charset?B?text?=".
struct encoded_word {
    std::string charset;  ///< in lower case, without a language
    std::string bytes;    ///< decoded
    std::size_t length = 0;
};

/// The encoded word at the front of `text`; length 0 if there is none.
encoded_word read_encoded_word(std::string_view text) {
    encoded_word out;
    if (!text.starts_with("=?")) return out;
    const std::size_t language = text.find('?', 2);
    if (language == std::string_view::npos || text.size() < language + 3 || text[language + 2] != '?')
        return out;
    const std::size_t begin = language + 3, end = text.find("?=", begin);
    if (end == std::string_view::npos) return out;
    std::string_view charset = text.substr(2, language - 2);
    charset = charset.substr(0, charset.find('*'));
    const std::string_view inner = text.substr(begin, end - begin);
    if (charset.empty() || charset.find_first_of(" \t") != charset.npos) return out;
    const char how = static_cast<char>(text[language + 1] | 32);
    if (how != 'b' && how != 'q') return out;
    out.charset = lower(charset);
    out.bytes = how == 'b' ? from_base64(inner) : from_quoted_printable(inner, true);
    out.length = end + 2;
    return out;
}

}  // namespace

std::string decode_mail_words(std::string_view value) {
    const std::string line = header_fields::unfolded(value);
    std::string out, pending, charset;
    const auto flush = [&] {
        if (pending.empty()) return;
        std::string done;
        out += decode_labelled(pending, charset, done);
        pending.clear();
    };
    std::string_view rest = line;
    while (!rest.empty()) {
        // Blanks between two encoded words do not count.
        const std::size_t blanks = std::min(rest.find_first_not_of(' '), rest.size());
        if (encoded_word word = read_encoded_word(rest.substr(blanks)); word.length != 0) {
            const bool follows = !pending.empty();
            if (follows && word.charset != charset) flush();
            if (!follows) out.append(blanks, ' ');
            charset = std::move(word.charset);
            pending += word.bytes;
            rest.remove_prefix(blanks + word.length);
            continue;
        }
        flush();
        const std::size_t end = std::min(rest.find("=?", blanks + 1), rest.size());
        std::string plain(rest.substr(0, end));
        // The blanks before the next encoded word are looked at with it.
        const std::size_t text = plain.find_last_not_of(' ') + 1;
        if (end != rest.size() && text != 0) plain.resize(text);
        rest.remove_prefix(plain.size());
        repair_utf8(plain);
        out += plain;
    }
    flush();
    for (char& c : out) c = c == '\n' || c == '\r' || c == '\0' ? ' ' : c;
    return out;
}

std::vector<std::string> message_ids(std::string_view value) {
    std::vector<std::string> out;
    for (std::size_t at = value.find('<'); at != std::string_view::npos; at = value.find('<', at + 1)) {
        const std::size_t end = value.find('>', at);
        if (end == std::string_view::npos) break;
        std::string id;
        for (const char c : value.substr(at + 1, end - at - 1)) {
            if (!is_space(c)) id += c;
        }
        repair_utf8(id);
        if (!id.empty()) out.push_back(std::move(id));
        at = end;
    }
    return out;
}

}  // namespace quern::io
