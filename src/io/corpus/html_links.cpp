// SPDX-License-Identifier: Apache-2.0
#include "io/corpus/html_links.hpp"

#include <algorithm>
#include <vector>

#include "io/corpus/encoding.hpp"

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

namespace {

std::string_view trimmed(std::string_view text) {
    while (!text.empty() && static_cast<unsigned char>(text.front()) <= ' ') text.remove_prefix(1);
    while (!text.empty() && static_cast<unsigned char>(text.back()) <= ' ') text.remove_suffix(1);
    return text;
}

bool has_scheme(std::string_view href) {
    const std::size_t colon = href.find_first_of(":/?#");
    if (colon == std::string_view::npos || href[colon] != ':' || colon == 0) return false;
    const auto letter = [](char c) { return (c | 32) >= 'a' && (c | 32) <= 'z'; };
    return letter(href[0]) &&
           std::all_of(href.begin(), href.begin() + static_cast<std::ptrdiff_t>(colon), [&](char c) {
               return letter(c) || (c >= '0' && c <= '9') || c == '+' || c == '-' || c == '.';
           });
}

/// "a/./b/../c" as "a/c"; nothing if it leads above the root.
std::optional<std::string> normalised(std::string_view path) {
    std::vector<std::string_view> parts;
    bool folder = true;
    while (!path.empty()) {
        const std::size_t end = std::min(path.find('/'), path.size());
        const std::string_view part = path.substr(0, end);
        folder = part.empty() || part == "." || part == ".." || end != path.size();
        path.remove_prefix(std::min(end + 1, path.size()));
        if (part == "..") {
            if (parts.empty()) return std::nullopt;
            parts.pop_back();
        } else if (!part.empty() && part != ".") {
            parts.push_back(part);
        }
    }
    std::string out;
    for (const auto part : parts) {
        if (!out.empty()) out += '/';
        out += part;
    }
    if (folder && !out.empty()) out += '/';
    return out;
}

}  // namespace

link_base::link_base(std::string_view page) : folder_(page.substr(0, page.rfind('/') + 1)) {}

void link_base::rebase(std::string_view href) {
    href = trimmed(href);
    if (has_scheme(href) || href.starts_with("//")) {
        foreign_ = true;
        return;
    }
    const std::string path = percent_decoded(href.substr(0, href.find_first_of("?#")));
    const auto whole = normalised(path.starts_with('/') ? path : folder_ + path);
    if (whole) folder_ = whole->substr(0, whole->rfind('/') + 1);
    foreign_ = !whole;
}

std::optional<std::string> link_base::resolve(std::string_view href) const {
    href = trimmed(href);
    if (foreign_ || has_scheme(href) || href.starts_with("//")) return std::nullopt;
    href = href.substr(0, href.find_first_of("?#"));
    if (href.empty()) return std::nullopt;
    std::string path = percent_decoded(href);
    if (path.find('\0') != std::string::npos) return std::nullopt;
    auto whole = normalised(path.starts_with('/') ? path : folder_ + path);
    if (!whole) return std::nullopt;
    if (whole->empty() || whole->ends_with('/')) *whole += "index.html";
    repair_utf8(*whole);
    return whole;
}

}  // namespace quern::io
