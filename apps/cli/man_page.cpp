// SPDX-License-Identifier: Apache-2.0
#include "man_page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

namespace quern::cli {
namespace {

constexpr std::size_t line_width = 78;  // mandoc -Tlint reports lines of more than 80 bytes

bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/// Text for roff. In `prose` a hyphen between letters stays one; every other is a minus, which readers can copy.
std::string escaped(std::string_view text, bool prose) {
    std::string out;
    bool is_option = false;  // in a word that begins with a dash
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        const bool begins = i == 0 || std::string_view(" \n([").find(text[i - 1]) != std::string_view::npos;
        if (begins) is_option = c == '-';
        switch (c) {
            case '\\':
                out += "\\e";
                break;
            case '^':
                out += "\\(ha";
                break;
            case '~':
                out += "\\(ti";
                break;
            case '`':
                out += "\\(ga";
                break;
            case '\'':
                out += prose ? "'" : "\\(aq";
                break;
            case '-': {
                const bool joins =
                    i > 0 && i + 1 < text.size() && is_letter(text[i - 1]) && is_letter(text[i + 1]);
                out += prose && joins && !is_option ? "-" : "\\-";
                break;
            }
            default:
                out += c;
        }
    }
    return out;
}

/// Lines of at most line_width bytes where there are blanks; `end` ends each line but the last. None begins with a
/// character that roff takes for a request.
std::string broken(std::string_view text, std::string_view end) {
    std::string out;
    std::size_t column = 0;
    for (std::size_t i = 0; i < text.size();) {
        const std::size_t blank = std::min(text.find(' ', i), text.size());
        if (column > 0 && column + 1 + (blank - i) > line_width) {
            out.append(end).append("\n");
            column = 0;
        } else if (column > 0) {
            out += ' ';
            ++column;
        }
        if (column == 0 && (text[i] == '.' || text[i] == '\'')) out += "\\&";
        out.append(text.substr(i, blank - i));
        column += blank - i;
        i = std::min(blank + 1, text.size());
    }
    return out + '\n';
}

/// Paragraphs, which empty lines separate; `between` is the macro that begins another one.
std::string prose(std::string_view text, std::string_view between) {
    std::string out;
    for (std::size_t i = 0; i < text.size();) {
        const std::size_t end = std::min(text.find('\n', i), text.size());
        if (end > i) {
            if (!out.empty()) out.append(between).append("\n");
            out += broken(escaped(text.substr(i, end - i), true), "");
        }
        i = end + 1;
    }
    return out;
}

/// A command as it is typed; if it is too long for a line of the source, the line continues after a backslash.
std::string typed(std::string_view command) {
    return broken(escaped(command, false), " \\");
}

std::string upper(std::string_view text) {
    std::string out(text);
    std::ranges::transform(out, out.begin(),
                           [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c; });
    return out;
}

/// The head of an entry: names in bold, what stands for a value in italics.
std::string head(const help_line& line) {
    const typed_form form = form_of(line);
    std::string out;
    for (const std::string& name : form.names)
        out += fmt::format("{}\\fB{}\\fR", out.empty() ? "" : ", ", escaped(name, false));
    if (form.value.empty()) return out;
    const char* const font = line.heading == "Commands" ? "B" : "I";
    return out + fmt::format("{}\\f{}{}\\fR", out.empty() ? "" : " ", font, escaped(form.value, false));
}

}  // namespace

std::string manual_name(const help_page& page) {
    return page.name.empty() ? "quern" : "quern-" + page.name;
}

std::string to_roff(const help_page& page, const std::string& date, std::span<const std::string> see_also) {
    const std::string name = manual_name(page);
    std::string out = fmt::format(".\\\" Made by quern man{}{}\n", page.name.empty() ? "" : " ", page.name);
    out += fmt::format(".TH {} 1 \"{}\" \"quern {}\" \"Quern Manual\"\n", upper(name), date, QUERN_VERSION);
    out +=
        fmt::format(".SH NAME\n{}",
                    broken(fmt::format("{} \\- {}", escaped(name, false), escaped(page.summary, true)), ""));
    const std::string command = page.name.empty() ? "quern" : "quern " + page.name;
    out += fmt::format(".SH SYNOPSIS\n\\fB{}\\fR\n{}", command, typed(page.usage));
    if (!page.description.empty()) out += ".SH DESCRIPTION\n" + prose(page.description, ".PP");
    std::string heading;
    for (const help_line& line : page.lines) {
        if (line.heading != heading) {
            heading = line.heading;
            out += ".SH " + broken(escaped(upper(heading), true), " \\");
        }
        out += ".TP\n" + broken(head(line), " \\") + prose(line.help, ".IP");
    }
    if (!page.examples.empty()) out += ".SH EXAMPLES\n";
    for (const auto& [example, meaning] : page.examples)
        out += ".TP\n\\fB" + broken(escaped(example, false) + "\\fR", " \\") + prose(meaning, ".IP");
    out += ".SH EXIT STATUS\n";
    for (const auto& [codes, meaning] : exit_codes())
        out += fmt::format(".TP\n\\fB{}\\fR\n{}", codes, prose(meaning, ".IP"));
    if (see_also.empty()) return out;
    out += ".SH SEE ALSO\n";
    for (const std::string& other : see_also)
        out += fmt::format("\\fB{}\\fR(1){}\n", escaped(other, false), &other == &see_also.back() ? "" : ",");
    return out;
}

}  // namespace quern::cli
