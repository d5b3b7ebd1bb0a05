// SPDX-License-Identifier: Apache-2.0
#include "ops/text_quality/masking.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include "ops/text_quality/characters.hpp"

namespace quern::text_quality {
namespace {

constexpr auto none = std::string_view::npos;

constexpr std::string_view emails[] = {"email@example.com", "firstname.lastname@example.org"};
constexpr std::string_view ips[] = {"22.214.171.124", "126.96.36.199",  "188.8.131.52",
                                    "184.108.40.206", "220.127.116.11", "18.104.22.168"};

bool is_digit(char c) {
    return c >= '0' && c <= '9';
}
bool is_alphanumeric(char c) {
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
/// Of the part before the @.
bool is_atom(char c) {
    return is_alphanumeric(c) || std::string_view("!#$%&'*+/=?^_`{|}~-").find(c) != none;
}

/// The longest number from 0 to 255 at `at` that fits the pattern: two digits, or three up to 255. Its length, or 0.
std::size_t octet(std::string_view text, std::size_t at) {
    std::size_t digits = 0;
    while (digits < 3 && at + digits < text.size() && is_digit(text[at + digits])) ++digits;
    if (digits == 3) {
        const char a = text[at], b = text[at + 1], c = text[at + 2];
        const bool fits = a < '2' || (a == '2' && (b < '5' || (b == '5' && c <= '5')));
        if (!fits) digits = 2;
    }
    return digits;
}

/// The end of three numbers, each with a point after it; npos: there are none.
std::size_t three_octets(std::string_view text, std::size_t at) {
    for (int i = 0; i < 3; ++i) {
        const std::size_t digits = octet(text, at);
        // A shorter number would have a digit after it, not a point.
        if (digits == 0 || at + digits >= text.size() || text[at + digits] != '.') return none;
        at += digits + 1;
    }
    return at;
}

/// The end of "[1.2.3.4]" or "[1.2.3.tag:]" at `at`.
std::size_t bracketed_end(std::string_view text, std::size_t at) {
    at = three_octets(text, at + 1);
    if (at == none) return none;
    const std::size_t digits = octet(text, at);
    if (digits != 0 && at + digits < text.size() && text[at + digits] == ']') return at + digits + 1;
    std::size_t end = at;
    while (end < text.size() && (is_alphanumeric(text[end]) || text[end] == '-')) ++end;
    if (end == at || !is_alphanumeric(text[end - 1]) || !text.substr(end).starts_with(":]")) return none;
    return end + 2;
}

/// The end of a host name of two labels or more at `at`: the longest one.
std::size_t host_end(std::string_view text, std::size_t at) {
    std::size_t end = none;
    for (int labels = 0;; ++labels) {
        if (at >= text.size() || !is_alphanumeric(text[at])) return end;
        std::size_t run = at, label = at;
        for (; run < text.size() && (is_alphanumeric(text[run]) || text[run] == '-'); ++run)
            if (is_alphanumeric(text[run])) label = run + 1;
        if (labels > 0) end = label;
        if (label != run || run >= text.size() || text[run] != '.') return end;
        at = run + 1;
    }
}

/// The beginning of the local part before the @ at `at`, not before `from`; npos: there is none.
std::size_t local_begin(std::string_view text, std::size_t from, std::size_t at, is_word_character is_word) {
    std::size_t begin = at;
    while (begin > from &&
           (is_atom(text[begin - 1]) || (text[begin - 1] == '.' && begin < at && text[begin] != '.')))
        --begin;
    if (begin < at && text[begin] == '.') ++begin;
    const auto in_word = [&](std::size_t i) { return is_alphanumeric(text[i]) || text[i] == '_'; };
    for (; begin < at; ++begin) {
        if (text[begin] == '.') continue;
        bool after_word = false;
        if (begin > 0) {
            std::size_t before = last_character(text.substr(0, begin));
            after_word = is_word(next_utf8(text, before));
        }
        if (in_word(begin) != after_word) return begin;
    }
    return none;
}

struct block {
    std::uint32_t address;
    unsigned bits;
};

constexpr std::uint32_t address(std::uint32_t a, std::uint32_t b, std::uint32_t c, std::uint32_t d) {
    return a << 24 | b << 16 | c << 8 | d;
}

/// The registry of special-purpose addresses (RFC 6890): those that are not globally reachable.
constexpr block reserved[] = {
    {address(0, 0, 0, 0), 8},     {address(10, 0, 0, 0), 8},      {address(100, 64, 0, 0), 10},
    {address(127, 0, 0, 0), 8},   {address(169, 254, 0, 0), 16},  {address(172, 16, 0, 0), 12},
    {address(192, 0, 0, 0), 24},  {address(192, 0, 2, 0), 24},    {address(192, 168, 0, 0), 16},
    {address(198, 18, 0, 0), 15}, {address(198, 51, 100, 0), 24}, {address(203, 0, 113, 0), 24},
    {address(240, 0, 0, 0), 4}};

bool is_public(std::string_view text) {
    std::uint32_t number = 0;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = std::min(text.find('.', at), text.size());
        if (end - at > 1 && text[at] == '0') return false;
        std::uint32_t part = 0;
        for (; at < end; ++at) part = part * 10 + static_cast<std::uint32_t>(text[at] - '0');
        number = number << 8 | part;
        at = end + 1;
    }
    if (number == address(192, 0, 0, 9) || number == address(192, 0, 0, 10)) return true;
    return std::ranges::none_of(reserved,
                                [&](const block& b) { return (number ^ b.address) >> (32 - b.bits) == 0; });
}

/// A long text does not take twice its bytes.
void make_room(std::string_view text, std::string& out) {
    out.reserve(out.size() + text.size() + text.size() / 16);
}

}  // namespace

std::uint64_t mask_emails(std::string_view text, is_word_character is_word, std::string& out) {
    std::uint64_t count = 0;
    std::size_t copied = 0, from = 0;
    for (std::size_t at = text.find('@'); at != none; at = text.find('@', at + 1)) {
        if (at < from) continue;
        const bool in_brackets = at + 1 < text.size() && text[at + 1] == '[';
        const std::size_t end = in_brackets ? bracketed_end(text, at + 1) : host_end(text, at + 1);
        if (end == none) continue;
        const std::size_t begin = local_begin(text, from, at, is_word);
        if (begin == none) continue;
        if (count == 0) make_room(text, out);
        out += text.substr(copied, begin - copied);
        out += emails[count++ % std::size(emails)];
        copied = from = end;
    }
    if (count != 0) out += text.substr(copied);
    return count;
}

std::uint64_t mask_public_ips(std::string_view text, std::string& out) {
    std::uint64_t count = 0;
    std::size_t copied = 0, next = 0;
    for (std::size_t point = text.find('.'); point != none;
         point = text.find('.', std::max(point + 1, next))) {
        // The first number ends at this point; the match begins as far to the left as its digits allow.
        std::size_t begin = point;
        while (begin > next && point - begin < 3 && is_digit(text[begin - 1])) --begin;
        for (; begin < point; ++begin) {
            if (octet(text, begin) != point - begin) continue;
            const std::size_t last = three_octets(text, begin);
            const std::size_t digits = last == none ? 0 : octet(text, last);
            if (digits == 0) continue;
            next = last + digits;
            const std::string_view found = text.substr(begin, next - begin);
            if (is_public(found)) {
                if (count == 0) make_room(text, out);
                out += text.substr(copied, begin - copied);
                out += ips[count++ % std::size(ips)];
                copied = next;
            }
            break;
        }
    }
    if (count != 0) out += text.substr(copied);
    return count;
}

}  // namespace quern::text_quality
