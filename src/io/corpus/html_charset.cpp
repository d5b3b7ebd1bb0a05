// SPDX-License-Identifier: Apache-2.0
#include "io/corpus/html_charset.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "base/ascii.hpp"
#include "io/corpus/encoding.hpp"
#include "io/corpus/html_tokens.hpp"

namespace quern::io {
namespace {

using namespace std::string_view_literals;

/// The word after "charset=" or "encoding=" in `text`, without quotes.
std::string label_after(std::string_view text, std::string_view key) {
    std::size_t at = lower(text).find(key);
    if (at == std::string::npos) return {};
    at += key.size();
    while (at < text.size() && (text[at] == ' ' || text[at] == '=' || text[at] == '"' || text[at] == '\''))
        ++at;
    const std::size_t end = std::min(text.find_first_of(" \"';>?\t\r\n", at), text.size());
    return lower(text.substr(at, end - at));
}

std::string declared_encoding(std::string_view bytes) {
    std::string_view head = bytes.substr(0, 4096);
    if (head.starts_with("<?xml")) {
        if (auto label = label_after(head.substr(0, head.find("?>")), "encoding"); !label.empty())
            return label;
    }
    html_tokens tokens(head);
    for (html_token token; tokens.next(token);) {
        if (token.what != html_token::start || token.name != html_name::meta) continue;
        if (auto label = label_after(token.attributes, "charset"); !label.empty()) return label;
    }
    return {};
}

/// The encoding that browsers use if an old, narrower name is declared.
std::string widened(std::string label) {
    constexpr std::array<std::pair<std::string_view, std::string_view>, 22> wider = {{
        {"iso-8859-1"sv, "windows-1252"sv},
        {"iso8859-1"sv, "windows-1252"sv},
        {"latin1"sv, "windows-1252"sv},
        {"latin-1"sv, "windows-1252"sv},
        {"us-ascii"sv, "windows-1252"sv},
        {"ascii"sv, "windows-1252"sv},
        {"iso-8859-9"sv, "windows-1254"sv},
        {"iso-8859-11"sv, "windows-874"sv},
        {"tis-620"sv, "windows-874"sv},
        {"gb2312"sv, "gb18030"sv},
        {"gb_2312-80"sv, "gb18030"sv},
        {"gbk"sv, "gb18030"sv},
        {"x-gbk"sv, "gb18030"sv},
        {"shift_jis"sv, "windows-31j"sv},
        {"shift-jis"sv, "windows-31j"sv},
        {"sjis"sv, "windows-31j"sv},
        {"x-sjis"sv, "windows-31j"sv},
        {"euc-kr"sv, "windows-949"sv},
        {"ks_c_5601-1987"sv, "windows-949"sv},
        {"big5"sv, "big5-hkscs"sv},
        {"x-euc-jp"sv, "euc-jp"sv},
        {"x-big5"sv, "big5-hkscs"sv},
    }};
    for (const auto& [narrow, wide] : wider) {
        if (label == narrow) return std::string(wide);
    }
    return label;
}

}  // namespace

std::string decode_html(std::string_view bytes, std::string& done) {
    if (byte_order_of(bytes) != byte_order::none) return decode_text(bytes, done);
    const bool shifts = bytes.substr(0, 64 << 10).find('\x1B') != std::string_view::npos;
    if (!shifts && is_utf8(bytes)) return std::string(bytes);
    const std::string label = widened(declared_encoding(bytes));
    if (shifts && !label.starts_with("iso-2022") && !label.starts_with("hz-gb"))
        return decode_text(bytes, done);
    // A declaration in ASCII bytes cannot be in an encoding of other units.
    const bool impossible =
        label.starts_with("utf-16") || label.starts_with("utf-32") || label.starts_with("ucs-");
    std::string text;
    if (label.empty() || impossible || label == "utf-8" || label == "utf8" ||
        !decode_named(bytes, label, text)) {
        return decode_text(bytes, done);
    }
    return text;
}

bool decode_as_browsers(std::string_view bytes, std::string_view name, std::string& out) {
    const std::string label = widened(lower(trimmed(name)));
    return !label.empty() && label != "utf-8" && label != "utf8" && decode_named(bytes, label, out);
}

namespace {

/// Whether the bytes show their encoding by themselves: a header does not count then.
bool shows_encoding(std::string_view bytes) {
    if (byte_order_of(bytes) != byte_order::none) return true;
    const bool shifts = bytes.substr(0, 64 << 10).find('\x1B') != std::string_view::npos;
    return !shifts && is_utf8(bytes);
}

}  // namespace

std::string decode_labelled(std::string_view bytes, std::string_view name, std::string& done) {
    std::string text;
    if (!shows_encoding(bytes) && decode_as_browsers(bytes, name, text)) return text;
    return decode_text(bytes, done);
}

std::string page_by_header(std::string_view bytes, std::string_view name) {
    std::string text;
    if (name.empty() || shows_encoding(bytes) || !decode_as_browsers(bytes, name, text)) return {};
    return "\xEF\xBB\xBF" + text;
}

}  // namespace quern::io
