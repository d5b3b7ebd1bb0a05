// SPDX-License-Identifier: Apache-2.0
#include "io/corpus/html_tokens.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/ascii.hpp"

namespace quern::io {
namespace {

using namespace std::string_view_literals;

constexpr bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
constexpr char lower(char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
}

/// What ends a name or a value, by the byte.
enum ends : std::uint8_t { of_tag_name = 1, of_attribute_name = 2, of_value = 4, blank = 8 };

constexpr auto byte_ends = [] {
    std::array<std::uint8_t, 256> table{};
    for (const char c : " \t\n\f\r"sv)
        table[static_cast<unsigned char>(c)] = of_tag_name | of_attribute_name | of_value | blank;
    table['/'] = of_tag_name | of_attribute_name;
    table['>'] = of_tag_name | of_attribute_name | of_value;
    table['='] = of_attribute_name;
    return table;
}();

bool ends(char c, std::uint8_t what) {
    return (byte_ends[static_cast<unsigned char>(c)] & what) != 0;
}

const char* find(const char* from, const char* end, char c) {
    if (from >= end) return end;
    const void* found = std::memchr(from, c, static_cast<std::size_t>(end - from));
    return found == nullptr ? end : static_cast<const char*>(found);
}

std::string_view between(const char* begin, const char* end) {
    return {begin, static_cast<std::size_t>(end - begin)};
}

bool is_name(std::string_view written, std::string_view lower_name) {
    return written.size() == lower_name.size() &&
           std::equal(lower_name.begin(), lower_name.end(), written.begin(),
                      [](char l, char c) { return l == lower(c); });
}

/// `count` if it decides nothing.
html_attribute attribute_of(std::string_view name) {
    using enum html_attribute;
    switch (name.size()) {
        case 2:
            return is_name(name, "id") ? id : count;
        case 4:
            if (is_name(name, "href")) return href;
            return is_name(name, "role") ? role : count;
        case 5:
            if (is_name(name, "class")) return class_;
            return is_name(name, "style") ? style : count;
        case 6:
            return is_name(name, "hidden") ? hidden : count;
        case 8:
            return is_name(name, "itemprop") ? itemprop : count;
        case 11:
            return is_name(name, "aria-hidden") ? aria_hidden : count;
        default:
            return count;
    }
}

}  // namespace

bool html_tokens::next(html_token& token) {
    if (raw_ != html_name::other) {
        const std::string_view name = raw_name_;
        const bool is_script = raw_ == html_name::script;
        const char* const close = raw_ == html_name::plaintext ? end_
                                  : is_script                  ? script_end()
                                                               : raw_end(name);
        token.what = html_token::raw;
        token.text_or_name = between(at_, close);
        token.name = std::exchange(raw_, html_name::other);
        at_ = close;
        if (!token.text_or_name.empty()) return true;
    }
    while (at_ != end_) {
        const char* const begin = at_;
        const char* at = begin;
        while (true) {
            at = find(at, end_, '<');
            if (end_ - at < 2) {
                at = end_;
                break;
            }
            const char c = at[1];
            if (is_letter(c) || c == '!' || c == '?' || (c == '/' && end_ - at > 2)) break;
            ++at;
        }
        if (at != begin) {
            token.what = html_token::text;
            token.text_or_name = between(begin, at);
            at_ = at;
            return true;
        }
        const bool is_end = at[1] == '/';
        at_ = at + (is_end ? 2 : 1);
        if (is_letter(*at_)) {
            if (read_tag(token, is_end)) return true;
        } else {
            token.what = html_token::none;
            skip_declaration(token);
            if (token.what != html_token::none) return true;
        }
    }
    token.what = html_token::none;
    return false;
}

bool html_tokens::read_tag(html_token& token, bool is_end) {
    const char* const name = at_;
    std::uint32_t hash = 0;
    while (at_ != end_ && !ends(*at_, of_tag_name)) hash = html_hash(hash, lower(*at_++));
    token.what = is_end ? html_token::end : html_token::start;
    token.text_or_name = between(name, at_);
    token.hash = hash;
    token.name = html_name_of(token.text_or_name, hash);
    token.present = 0;
    const char* const first = at_;
    while (true) {
        const char* const before = at_;
        while (at_ != end_ && (ends(*at_, blank) || *at_ == '/')) ++at_;
        if (at_ == end_) return false;
        token.self_closing = at_ != before && at_[-1] == '/';
        if (*at_ == '>') break;
        if (!read_attribute(token)) return false;
    }
    token.attributes = between(first, at_);
    ++at_;
    constexpr std::uint32_t raw_text = html_property::raw | html_property::references;
    if (!is_end && !foreign_ && (properties_of(token.name) & raw_text) != 0 &&
        !(xml_ && token.self_closing)) {
        raw_ = token.name;
        raw_name_ = text_of(token.name);
    }
    return true;
}

bool html_tokens::read_attribute(html_token& token) {
    const char* const name = at_;
    ++at_;  // may be '='
    while (at_ != end_ && !ends(*at_, of_attribute_name)) ++at_;
    const html_attribute which = attribute_of(between(name, at_));
    while (at_ != end_ && ends(*at_, blank)) ++at_;
    std::string_view value("");
    if (at_ != end_ && *at_ == '=') {
        ++at_;
        while (at_ != end_ && ends(*at_, blank)) ++at_;
        if (at_ == end_) return false;
        if (*at_ == '"' || *at_ == '\'') {
            const char* const close = find(at_ + 1, end_, *at_);
            if (close == end_) {
                at_ = end_;
                return false;
            }
            value = between(at_ + 1, close);
            at_ = close + 1;
        } else {
            const char* const begin = at_;
            while (at_ != end_ && !ends(*at_, of_value)) ++at_;
            value = between(begin, at_);
        }
    }
    if (which != html_attribute::count && !token.has(which)) {
        token.known[static_cast<std::size_t>(which)] = value;
        token.present |= 1U << static_cast<unsigned>(which);
    }
    return true;
}

/// After "<" or "</". CDATA in svg and math is the only declaration that yields a token.
void html_tokens::skip_declaration(html_token& token) {
    const std::string_view rest = between(at_, end_);
    if (rest.starts_with("!--")) {
        const char* at = at_ + 3;
        if (rest.substr(3).starts_with(">") || rest.substr(3).starts_with("->")) {
            at_ = find(at, end_, '>') + 1;
            return;
        }
        while (true) {
            at = find(at, end_, '-');
            const std::string_view mark = between(at, end_);
            if (mark.size() < 3) {
                at_ = end_;
                return;
            }
            if (mark[1] == '-') {
                std::size_t dashes = 2;
                while (dashes < mark.size() && mark[dashes] == '-') ++dashes;
                const std::string_view after = mark.substr(dashes);
                if (after.starts_with(">") || after.starts_with("!>")) {
                    at_ = after.data() + (after.front() == '>' ? 1 : 2);
                    return;
                }
                at += dashes;
            } else {
                ++at;
            }
        }
    }
    if (foreign_ && rest.starts_with("![CDATA[")) {
        const char* const begin = at_ + 8;
        const std::size_t close = between(begin, end_).find("]]>");
        const char* const stop = close == std::string_view::npos ? end_ : begin + close;
        at_ = stop == end_ ? end_ : stop + 3;
        token.what = html_token::raw;
        token.text_or_name = between(begin, stop);
        token.name = html_name::other;
        return;
    }
    at_ = std::min(find(at_, end_, '>') + 1, end_);
}

/// Whether "</name" is at `at`, followed by what ends a name.
bool html_tokens::ends_element(const char* at, std::string_view name) const {
    const std::string_view rest = between(at, end_);
    return rest.size() > name.size() + 2 && rest[1] == '/' && is_name(rest.substr(2, name.size()), name) &&
           ends(rest[name.size() + 2], of_tag_name);
}

const char* html_tokens::raw_end(std::string_view name) const {
    for (const char* at = find(at_, end_, '<'); at != end_; at = find(at + 1, end_, '<')) {
        if (ends_element(at, name)) return at;
    }
    return end_;
}

/// "<!--" in a script hides "</script>" if "<script" comes before it, up to "-->".
const char* html_tokens::script_end() const {
    const char* hidden_until = nullptr;  // the "-->" that ends a comment
    bool doubly = false;
    for (const char* at = find(at_, end_, '<'); at != end_;) {
        if (hidden_until != nullptr && at >= hidden_until) {
            hidden_until = nullptr;
            doubly = false;
        }
        const std::string_view rest = between(at, end_);
        if (hidden_until == nullptr && rest.starts_with("<!--")) {
            const std::size_t close = rest.find("-->", 2);
            hidden_until = close == std::string_view::npos ? end_ : rest.data() + close;
        } else if (hidden_until != nullptr && rest.size() > 7 && is_name(rest.substr(1, 6), "script") &&
                   ends(rest[7], of_tag_name)) {
            doubly = true;
        } else if (ends_element(at, "script")) {
            if (!doubly) return at;
            doubly = false;
        }
        at = find(at + 1, end_, '<');
    }
    return end_;
}

bool take_attribute(std::string_view& rest, std::string_view& name, std::string_view& value) {
    std::size_t at = 0;
    while (at < rest.size() && (is_html_space(rest[at]) || rest[at] == '/')) ++at;
    const std::size_t begin = at;
    while (at < rest.size() && (at == begin || !ends(rest[at], of_attribute_name))) ++at;
    if (at == begin) return false;
    name = rest.substr(begin, at - begin);
    value = {};
    while (at < rest.size() && is_html_space(rest[at])) ++at;
    if (at < rest.size() && rest[at] == '=') {
        ++at;
        while (at < rest.size() && is_html_space(rest[at])) ++at;
        if (at < rest.size() && (rest[at] == '"' || rest[at] == '\'')) {
            const std::size_t close = std::min(rest.find(rest[at], at + 1), rest.size());
            value = rest.substr(at + 1, close - at - 1);
            at = std::min(close + 1, rest.size());
        } else {
            const std::size_t first = at;
            while (at < rest.size() && !is_html_space(rest[at])) ++at;
            value = rest.substr(first, at - first);
        }
    }
    rest.remove_prefix(at);
    return true;
}

}  // namespace quern::io
