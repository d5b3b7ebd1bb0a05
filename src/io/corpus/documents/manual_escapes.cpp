// SPDX-License-Identifier: Apache-2.0
#include "io/corpus/documents/manual_escapes.hpp"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <iterator>

#include "base/utf8.hpp"

namespace quern::io {
namespace {

struct roff_special {
    std::string_view name, shown;
};
constexpr roff_special specials[] = {
    {"em", "\u2014"}, {"en", "\u2013"}, {"hy", "-"},      {"bu", "\u2022"}, {"co", "\u00A9"},
    {"rg", "\u00AE"}, {"tm", "\u2122"}, {"lq", "\u201C"}, {"rq", "\u201D"}, {"oq", "\u2018"},
    {"cq", "\u2019"}, {"aq", "'"},      {"dq", "\""},     {"rs", "\\"},     {"ti", "~"},
    {"ha", "^"},      {"ga", "`"},      {"bq", "\u201A"}, {"Bq", "\u201E"}, {"Fo", "\u00AB"},
    {"Fc", "\u00BB"}, {"fo", "\u2039"}, {"fc", "\u203A"}, {"<=", "\u2264"}, {">=", "\u2265"},
    {"!=", "\u2260"}, {"==", "\u2261"}, {"~~", "\u2248"}, {"->", "\u2192"}, {"<-", "\u2190"},
    {"<>", "\u2194"}, {"ua", "\u2191"}, {"da", "\u2193"}, {"+-", "\u00B1"}, {"mu", "\u00D7"},
    {"di", "\u00F7"}, {"de", "\u00B0"}, {"12", "\u00BD"}, {"14", "\u00BC"}, {"34", "\u00BE"},
    {"sc", "\u00A7"}, {"ps", "\u00B6"}, {"dg", "\u2020"}, {"dd", "\u2021"}, {"Eu", "\u20AC"},
    {"eu", "\u20AC"}, {"Po", "\u00A3"}, {"Ye", "\u00A5"}, {"ct", "\u00A2"}, {"mi", "\u2212"},
    {"pl", "+"},      {"eq", "="},      {"sl", "/"},      {"ba", "|"},      {"br", "\u2502"},
    {"ul", "_"},      {"or", "|"},      {"at", "@"},      {"sh", "#"},      {"Do", "$"},
    {"lB", "["},      {"rB", "]"},      {"lC", "{"},      {"rC", "}"},      {"la", "\u27E8"},
    {"ra", "\u27E9"}, {"ss", "\u00DF"}, {"ae", "\u00E6"}, {"AE", "\u00C6"}, {"oe", "\u0153"},
    {"OE", "\u0152"}, {"/o", "\u00F8"}, {"/O", "\u00D8"}, {"oa", "\u00E5"}, {"oA", "\u00C5"},
    {":a", "\u00E4"}, {":o", "\u00F6"}, {":u", "\u00FC"}, {":A", "\u00C4"}, {":O", "\u00D6"},
    {":U", "\u00DC"}, {":e", "\u00EB"}, {":i", "\u00EF"}, {"'a", "\u00E1"}, {"'e", "\u00E9"},
    {"'i", "\u00ED"}, {"'o", "\u00F3"}, {"'u", "\u00FA"}, {"'E", "\u00C9"}, {"'A", "\u00C1"},
    {"`a", "\u00E0"}, {"`e", "\u00E8"}, {"`u", "\u00F9"}, {"^a", "\u00E2"}, {"^e", "\u00EA"},
    {"^i", "\u00EE"}, {"^o", "\u00F4"}, {"^u", "\u00FB"}, {"~n", "\u00F1"}, {"~o", "\u00F5"},
    {"~a", "\u00E3"}, {",c", "\u00E7"}, {",C", "\u00C7"}, {"*a", "\u03B1"}, {"*b", "\u03B2"},
    {"*g", "\u03B3"}, {"*d", "\u03B4"}, {"*e", "\u03B5"}, {"*l", "\u03BB"}, {"*m", "\u03BC"},
    {"*p", "\u03C0"}, {"*s", "\u03C3"}, {"if", "\u221E"}, {"sr", "\u221A"},
};

std::string_view escape_in_brackets(std::string_view text, std::size_t& at) {
    const std::size_t begin = at + 1, end = std::min(text.find(']', begin), text.size());
    at = end;
    return text.substr(begin, end - begin);
}

/// Moves `at` to the last character of an argument: "x", "(xx" or "[xxx]", after the escape's character.
std::string_view escape_argument(std::string_view text, std::size_t& at) {
    if (at + 1 >= text.size()) return {};
    ++at;
    if (text[at] == '(') {
        const std::string_view name = text.substr(at + 1, 2);
        at += 2;
        return name;
    }
    if (text[at] == '[') return escape_in_brackets(text, at);
    return text.substr(at, 1);
}
void skip_quoted(std::string_view text, std::size_t& at) {
    if (at + 1 >= text.size()) return;
    const std::size_t end = text.find(text[at + 1], at + 2);
    at = end == std::string_view::npos ? text.size() : end;
}
void skip_size(std::string_view text, std::size_t& at) {
    if (at + 1 < text.size() && (text[at + 1] == '+' || text[at + 1] == '-')) ++at;
    if (at + 1 >= text.size()) return;
    if (text[at + 1] == '(' || text[at + 1] == '[' || text[at + 1] == '\'') {
        if (text[at + 1] == '\'') {
            skip_quoted(text, at);
        } else {
            escape_argument(text, at);
        }
        return;
    }
    ++at;
    // Two digits only from 10 to 39.
    if (at + 1 < text.size() && text[at] >= '1' && text[at] <= '3' && text[at + 1] >= '0' &&
        text[at + 1] <= '9' && text[at - 1] == 's')
        ++at;
}

std::string string_named(std::string_view name, const roff_strings& strings) {
    if (name == "lq") return "\u201C";
    if (name == "rq") return "\u201D";
    if (name == "R") return "\u00AE";
    if (name == "Tm") return "\u2122";
    const auto found = strings.find(name);
    return found == strings.end() ? std::string() : found->second;
}

std::string roff_character(std::string_view name) {
    if (name.size() >= 5 && name[0] == 'u') {
        std::uint32_t point = 0;
        const auto parsed = std::from_chars(name.data() + 1, name.data() + name.size(), point, 16);
        std::string out;
        if (parsed.ec == std::errc() && point >= ' ' && point < 0x110000 &&
            (point < 0xD800 || point > 0xDFFF))
            append_utf8(static_cast<char32_t>(point), out);
        return out;
    }
    const auto* const found = std::ranges::find(specials, name, &roff_special::name);
    return found == std::end(specials) ? std::string() : std::string(found->shown);
}

}  // namespace

std::string shown_by_roff(std::string_view text, const roff_strings& strings) {
    constexpr std::size_t max_added = 64 << 10;
    std::string out;
    for (std::size_t at = 0; at < text.size(); ++at) {
        if (text[at] != '\\') {
            out += text[at];
            continue;
        }
        if (++at == text.size()) break;
        const char c = text[at];
        switch (c) {
            case '-':
                out += '-';
                break;
            case 'e':
            case '\\':
                out += '\\';
                break;
            case ' ':
            case '~':
            case '0':
                out += ' ';
                break;
            case '\'':
            case '`':
            case '.':
                out += c;
                break;
            case 't':
                out += '\t';
                break;
            case '"':
            case '#':
                return out;
            case '(':
                out += roff_character(text.substr(std::min(at + 1, text.size()), 2));
                at += 2;
                break;
            case '[':
                out += roff_character(escape_in_brackets(text, at));
                break;
            case '*':
                // Strings may be longer than their names, a line with them not much longer.
                if (const std::string_view name = escape_argument(text, at);
                    out.size() < text.size() + max_added)
                    out += string_named(name, strings);
                break;
            case 'f':
            case 'F':
            case 'm':
            case 'M':
            case 'n':
            case 'g':
            case 'k':
            case 'Y':
            case 'V':
                if (at + 1 < text.size() && c == 'n' && (text[at + 1] == '+' || text[at + 1] == '-')) ++at;
                escape_argument(text, at);
                break;
            case 's':
                skip_size(text, at);
                break;
            case 'h':
            case 'v':
            case 'w':
            case 'l':
            case 'L':
            case 'D':
            case 'o':
            case 'b':
            case 'x':
            case 'N':
            case 'X':
            case 'R':
            case 'S':
            case 'H':
            case 'A':
            case 'B':
            case 'Z':
                skip_quoted(text, at);
                break;
            default:  // spaces without width, fonts' corrections, places to hyphenate
                break;
        }
    }
    return out;
}

}  // namespace quern::io
