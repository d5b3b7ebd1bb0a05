// SPDX-License-Identifier: Apache-2.0
#include "io/corpus/documents/front_matter.hpp"

#include <algorithm>

#include "base/ascii.hpp"

namespace quern::io {
namespace {

constexpr std::string_view blanks = " \t\r";

/// Removes the first line of `text` and returns it without trailing blanks.
std::string_view take_line(std::string_view& text) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    return line.substr(0, line.find_last_not_of(blanks) + 1);
}

/// The key of "key: value" (or "key = value"), and the value; an empty key if the line has another form.
struct member {
    std::string_view key, value;
};

member member_of(std::string_view line, char sign) {
    const std::size_t end = line.find(sign);
    if (end == std::string_view::npos) return {};
    const std::string_view value = line.substr(end + 1);
    if (sign == ':' && !value.empty() && blanks.find(value.front()) == std::string_view::npos) return {};
    std::string_view key = trimmed(line.substr(0, end));
    if (key.size() > 1 && (key.front() == '"' || key.front() == '\'') && key.back() == key.front())
        key = key.substr(1, key.size() - 2);
    const auto part_of_name = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               static_cast<unsigned char>(c) >= 0x80 ||
               std::string_view("_-./ ").find(c) != std::string_view::npos;
    };
    return std::ranges::all_of(key, part_of_name) ? member{key, trimmed(value)} : member{};
}

/// "a # remark" becomes a; quotes are removed, and protect their contents.
std::string scalar(std::string_view value) {
    if (value.empty() || (value.front() != '"' && value.front() != '\'')) {
        return std::string(trimmed(value.substr(0, std::min(value.find(" #"), value.size()))));
    }
    const char quote = value.front();
    std::string out;
    for (std::size_t at = 1; at < value.size(); ++at) {
        const bool is_escape = quote == '"' && value[at] == '\\' && at + 1 < value.size();
        const bool is_doubled = quote == '\'' && value.substr(at).starts_with("''");
        if (is_escape || is_doubled) {
            ++at;
        } else if (value[at] == quote) {
            break;
        }
        out += value[at];
    }
    return out;
}

/// The indented lines that follow "title: >" or "title: |", joined.
std::string folded(std::string_view rest) {
    std::string out;
    while (!rest.empty() && blanks.find(rest.front()) != std::string_view::npos) {
        const std::string_view line = trimmed(take_line(rest));
        if (!out.empty() && !line.empty()) out += ' ';
        out += line;
    }
    return out;
}

}  // namespace

front_matter read_front_matter(std::string_view text) {
    std::string_view rest = text;
    const std::string_view mark = take_line(rest);
    if (mark != "---" && mark != "+++") return {};
    const bool yaml = mark == "---";
    front_matter found;
    bool any = false, bracketed = false;
    for (bool first = true; !rest.empty(); first = false) {
        const std::string_view line = take_line(rest);
        if ((any || first) && (line == mark || (yaml && line == "..."))) {
            found.bytes = text.size() - rest.size();
            return found;
        }
        const std::string_view inner = trimmed(line);
        if (inner.empty() || inner.front() == '#') continue;
        const member here = member_of(line, yaml ? ':' : '=');
        const bool nested = inner.size() != line.size() || (yaml && line.starts_with("- "));
        if (here.key.empty() || nested) {
            // Continuations of the preceding line; TOML's tables and the ends of its arrays.
            const bool fits = yaml ? nested || bracketed
                                   : nested || bracketed || line.front() == '[' || line.front() == ']';
            if (!any || !fits) return {};
            bracketed = bracketed && inner.back() != ']' && inner.back() != '}';
            continue;
        }
        any = true;
        bracketed = (here.value.starts_with('[') && !here.value.ends_with(']')) ||
                    (here.value.starts_with('{') && !here.value.ends_with('}'));
        if (!found.title.empty() || lower(here.key) != "title") continue;
        const bool goes_on = yaml && (here.value.starts_with('>') || here.value.starts_with('|'));
        found.title = goes_on ? folded(rest) : scalar(here.value);
    }
    return {};
}

}  // namespace quern::io
