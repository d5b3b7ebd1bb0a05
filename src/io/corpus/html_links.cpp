// SPDX-License-Identifier: Apache-2.0
#include "io/corpus/html_links.hpp"

#include <unicode/uidna.h>

#include <algorithm>
#include <array>
#include <memory>
#include <vector>

#include "base/ascii.hpp"
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

/// Without blanks and control characters at its ends, as browsers read a link.
std::string_view link_text(std::string_view text) {
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

/// The host of an address in lower case; in the "xn--" form if it has other alphabets. Nothing if it is no host's name.
std::optional<std::string> normal_host(std::string_view host) {
    std::string name = lower(percent_decoded(host));
    if (name.empty() || name.find_first_of(" /\\?#@<>^|%\"`{}") != std::string::npos) return std::nullopt;
    const auto beyond_ascii = [](char c) { return static_cast<unsigned char>(c) >= 0x80; };
    if (std::ranges::none_of(name, beyond_ascii)) return name;
    UErrorCode status = U_ZERO_ERROR;
    const std::unique_ptr<UIDNA, decltype(&uidna_close)> rules(
        uidna_openUTS46(UIDNA_NONTRANSITIONAL_TO_ASCII, &status), &uidna_close);
    std::array<char, 256> ascii{};
    UIDNAInfo info = UIDNA_INFO_INITIALIZER;
    const std::int32_t length =
        uidna_nameToASCII_UTF8(rules.get(), name.data(), static_cast<std::int32_t>(name.size()), ascii.data(),
                               static_cast<std::int32_t>(ascii.size()), &info, &status);
    if (U_FAILURE(status) || info.errors != 0) return std::nullopt;
    return std::string(ascii.data(), static_cast<std::size_t>(length));
}

/// Percent escapes for blanks, control characters, bytes beyond ASCII, and the characters of `also`.
std::string escaped(std::string_view text, std::string_view also) {
    constexpr std::string_view digits = "0123456789ABCDEF";
    std::string out;
    out.reserve(text.size());
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        if (c == '\t' || c == '\n' || c == '\r') continue;
        if (byte <= ' ' || byte >= 0x7f || also.find(c) != std::string_view::npos) {
            out += '%';
            out += digits[byte >> 4];
            out += digits[byte & 15];
        } else {
            out += c;
        }
    }
    return out;
}

/// "/a/./b/../c" as "/a/c", as browsers do: ".." at the top has no effect, empty parts stay.
std::string without_dots(std::string_view path) {
    std::string out;
    while (!path.empty()) {
        path.remove_prefix(1);  // '/'
        const std::size_t end = std::min(path.find('/'), path.size());
        const std::string_view part = path.substr(0, end);
        const std::string plain = part.size() <= 6 ? lower(part) : std::string();
        const bool here = plain == "." || plain == "%2e";
        const bool above = plain == ".." || plain == ".%2e" || plain == "%2e." || plain == "%2e%2e";
        path.remove_prefix(end);
        if (above) out.erase(out.empty() ? 0 : out.rfind('/'));
        if (!here && !above) {
            out += '/';
            out += part;
        } else if (path.empty()) {
            out += '/';
        }
    }
    return out.empty() ? "/" : out;
}

/// "http" or "https", in any case; empty for all others.
std::string web_scheme(std::string_view address) {
    const std::string scheme = lower(address.substr(0, address.find(':')));
    return has_scheme(address) && (scheme == "http" || scheme == "https") ? scheme : std::string();
}

}  // namespace

bool is_web_address(std::string_view page) {
    const std::string scheme = web_scheme(page);
    return !scheme.empty() && page.substr(scheme.size()).starts_with("://");
}

std::optional<std::string> normal_web_address(std::string_view address) {
    address = link_text(address);
    const std::string scheme = web_scheme(address);
    if (scheme.empty()) return std::nullopt;
    address.remove_prefix(scheme.size() + 1);
    address = address.substr(0, address.find('#'));
    const auto is_slash = [](char c) { return c == '/' || c == '\\'; };
    std::size_t slashes = 0;
    while (slashes < address.size() && is_slash(address[slashes])) ++slashes;
    address.remove_prefix(slashes);
    const std::size_t end = std::min(address.find_first_of("/\\?"), address.size());
    std::string_view authority = address.substr(0, end), rest = address.substr(end);
    std::string user;
    if (const std::size_t at = authority.rfind('@'); at != std::string_view::npos) {
        user = escaped(authority.substr(0, at + 1), "\"<>`");
        authority.remove_prefix(at + 1);
    }
    std::string_view port;
    const std::size_t colon = authority.rfind(':');
    if (colon != std::string_view::npos && authority.find(']', colon) == std::string_view::npos) {
        port = authority.substr(colon + 1);
        authority = authority.substr(0, colon);
        if (port.find_first_not_of("0123456789") != std::string_view::npos) return std::nullopt;
        port.remove_prefix(std::min(port.find_first_not_of('0'), port.size()));
    }
    const auto host = normal_host(authority);
    if (!host) return std::nullopt;
    const std::size_t query = std::min(rest.find('?'), rest.size());
    std::string path = escaped(rest.substr(0, query), "\"<>`{}");
    std::ranges::replace(path, '\\', '/');
    std::string out = scheme + "://" + user + *host;
    if (!port.empty() && port != (scheme == "http" ? "80" : "443")) out.append(":").append(port);
    return out + without_dots(path) + escaped(rest.substr(query), "\"<>'");
}

link_base::link_base(std::string_view page) {
    if (is_web_address(page)) address_ = normal_web_address(page).value_or("");
    if (address_.empty()) folder_ = page.substr(0, page.rfind('/') + 1);
}

void link_base::rebase(std::string_view href) {
    href = link_text(href);
    if (!address_.empty()) {
        if (auto base = resolve_address(href)) address_ = std::move(*base);
        return;
    }
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
    href = link_text(href);
    if (!address_.empty()) return resolve_address(href);
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

std::optional<std::string> link_base::resolve_address(std::string_view href) const {
    href = href.substr(0, href.find('#'));
    if (href.empty()) return std::nullopt;
    if (has_scheme(href)) return normal_web_address(href);
    const std::string_view base = address_;
    const std::size_t host = base.find("://") + 3, path = base.find('/', host), query = base.find('?', path);
    std::string made;
    if (href.starts_with("//") || href.starts_with("\\\\")) {
        made = base.substr(0, host - 2);
    } else if (href.front() == '/' || href.front() == '\\') {
        made = base.substr(0, path);
    } else if (href.front() == '?') {
        made = base.substr(0, query);
    } else {
        made = base.substr(0, base.substr(0, query).rfind('/') + 1);
    }
    return normal_web_address(made.append(href));
}

}  // namespace quern::io
