// SPDX-License-Identifier: Apache-2.0
#include "io/corpus/json_scan.hpp"

#include <algorithm>

#include "base/utf8.hpp"

namespace quern::io {
namespace {

constexpr std::string_view white = " \t\r\n";

/// The place after the string that begins at `at`.
std::size_t after_string(std::string_view bytes, std::size_t at) {
    const std::size_t first = at + 1;
    for (at = bytes.find('"', first);; at = bytes.find('"', at + 1)) {
        if (at == std::string_view::npos) return bytes.size();  // not well-formed
        std::size_t slashes = 0;
        while (at - slashes > first && bytes[at - slashes - 1] == '\\') ++slashes;
        if (slashes % 2 == 0) return at + 1;
    }
}

/// Calls `visit` for each byte outside strings that opens or closes an array or object, until it returns false; returns
/// the place after that byte.
template <class Visit>
std::size_t scan_brackets(std::string_view bytes, std::size_t at, const Visit& visit) {
    while (at < bytes.size()) {
        const char c = bytes[at];
        if (c == '"') {
            at = after_string(bytes, at);
            continue;
        }
        ++at;
        if ((c == '{' || c == '[' || c == '}' || c == ']') && !visit(c)) break;
    }
    return at;
}

unsigned hex_digit(char c) {
    if (c >= '0' && c <= '9') return static_cast<unsigned>(c - '0');
    return static_cast<unsigned>((c | 32) - 'a' + 10);
}

}  // namespace

json_value json_value::of_line(std::string_view line) {
    const std::size_t begin = line.find_first_not_of(white), last = line.find_last_not_of(white);
    return json_value(begin == std::string_view::npos ? std::string_view("null")
                                                      : line.substr(begin, last + 1 - begin));
}

std::string json_value::text() const {
    const std::string_view inside = bytes_.substr(1, bytes_.size() - 2);
    if (inside.find('\\') == std::string_view::npos) return std::string(inside);
    std::string out;
    out.reserve(inside.size());
    const auto unit_at = [&](std::size_t at) -> unsigned {
        if (at + 6 > inside.size() || inside[at] != '\\' || inside[at + 1] != 'u') return 0;
        unsigned unit = 0;
        for (std::size_t i = at + 2; i < at + 6; ++i) unit = unit * 16 + hex_digit(inside[i]);
        return unit;
    };
    for (std::size_t at = 0; at < inside.size();) {
        const std::size_t slash = std::min(inside.find('\\', at), inside.size());
        out += inside.substr(at, slash - at);
        at = slash;
        if (at + 1 >= inside.size()) break;
        if (inside[at + 1] != 'u') {
            constexpr std::string_view written = "bfnrt", meant = "\b\f\n\r\t";
            const std::size_t which = written.find(inside[at + 1]);
            out += which == std::string_view::npos ? inside[at + 1] : meant[which];
            at += 2;
            continue;
        }
        char32_t point = unit_at(at);
        at += 6;
        if (point >= 0xD800 && point < 0xDC00) {
            const unsigned low = unit_at(at);
            const bool pair = low >= 0xDC00 && low < 0xE000;
            point = pair ? 0x10000 + ((point - 0xD800) << 10) + (low - 0xDC00) : 0xFFFD;
            at += pair ? 6 : 0;
        } else if (point >= 0xDC00 && point < 0xE000) {
            point = 0xFFFD;
        }
        append_utf8(point, out);
    }
    return out;
}

std::optional<json_value> json_value::member(std::string_view name) const {
    std::optional<json_value> found;
    if (!is_object()) return found;
    for (json_parts parts(*this); parts.next();) {
        if (parts.has_name(name)) found = parts.value();
    }
    return found;
}

void json_value::append_compact(std::string& out) const {
    for (std::size_t at = 0; at < bytes_.size();) {
        if (bytes_[at] == '"') {
            const std::size_t end = after_string(bytes_, at);
            out += bytes_.substr(at, end - at);
            at = end;
            continue;
        }
        if (white.find(bytes_[at]) == std::string_view::npos) out += bytes_[at];
        ++at;
    }
}

std::size_t json_value::depth() const {
    if (!is_object() && !is_array()) return 0;
    std::size_t deepest = 0, now = 0;
    scan_brackets(bytes_, 0, [&](char c) {
        now += c == '{' || c == '[' ? 1 : std::size_t{0} - 1;
        deepest = std::max(deepest, now);
        return true;
    });
    return deepest;
}

bool json_parts::next() {
    at_ = std::min(bytes_.find_first_not_of(" \t\r\n,", at_), bytes_.size());
    if (at_ + 1 >= bytes_.size()) return false;  // the closing bracket
    if (is_object_) {
        name_ = take_value();
        at_ = std::min(bytes_.find(':', at_), bytes_.size() - 1) + 1;
        at_ = std::min(bytes_.find_first_not_of(white, at_), bytes_.size());
    }
    value_ = take_value();
    return !value_.empty();
}

bool json_parts::has_name(std::string_view name) const {
    if (name_.find('\\') == std::string_view::npos) return name_.substr(1, name_.size() - 2) == name;
    return this->name() == name;
}

/// The value that begins here; the next place is after it.
std::string_view json_parts::take_value() {
    const std::size_t begin = at_;
    if (begin >= bytes_.size()) return {};
    const char first = bytes_[begin];
    if (first == '"') {
        at_ = after_string(bytes_, begin);
    } else if (first == '{' || first == '[') {
        std::size_t depth = 0;
        at_ = scan_brackets(bytes_, begin, [&](char c) {
            depth += c == '{' || c == '[' ? 1 : std::size_t{0} - 1;
            return depth != 0;
        });
    } else {
        at_ = std::min(bytes_.find_first_of(" \t\r\n,}]", begin), bytes_.size());
    }
    return bytes_.substr(begin, at_ - begin);
}

}  // namespace quern::io
