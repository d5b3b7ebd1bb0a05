// SPDX-License-Identifier: Apache-2.0
#include "help_page.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace quern::cli {
namespace {

constexpr std::size_t page_width = 80, column = 26;

void append_line(std::string& text, const help_line& line) {
    std::string body = wrapped(line.help, column);
    if (line.left.size() + 4 <= column) {
        body.replace(0, line.left.size() + 2, "  " + line.left);
    } else {
        text += fmt::format("  {}\n", line.left);
    }
    text += body;
}

/// "--threads" of "    --threads N".
std::string_view long_name(std::string_view left) {
    const std::size_t at = left.find("--");
    return at == std::string_view::npos ? left : left.substr(at, left.find(' ', at) - at);
}

}  // namespace

std::string wrapped(std::string_view text, std::size_t indent) {
    std::string out;
    std::string line(indent, ' ');
    const auto flush = [&] {
        out.append(line, 0, line.find_last_not_of(' ') + 1);
        out += '\n';
        line.assign(indent, ' ');
    };
    for (std::size_t i = 0; i < text.size();) {
        if (text[i] == '\n') {
            flush();
            ++i;
            continue;
        }
        const std::size_t end = std::min(text.find_first_of(" \n", i), text.size());
        const std::string_view word = text.substr(i, end - i);
        if (line.size() + word.size() > page_width && line.size() > indent) flush();
        line.append(word);
        line += ' ';
        i = end < text.size() && text[end] == ' ' ? end + 1 : end;
    }
    flush();
    return out;
}

typed_form form_of(const help_line& line) {
    typed_form form;
    std::string_view rest = line.left;
    while (true) {
        rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
        if (!rest.starts_with('-')) break;
        const std::size_t end = std::min(rest.find_first_of(", "), rest.size());
        form.names.emplace_back(rest.substr(0, end));
        rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    form.value = rest;
    return form;
}

std::span<const exit_code_meaning> exit_codes() {
    static constexpr exit_code_meaning table[] = {
        {"0", "success; also if the reader of a pipe has closed it"},
        {"1", "nothing found, or an unknown word"},
        {"2", "usage, missing input, refused overwrite"},
        {"3", "invalid input beyond --max-errors"},
        {"4", "resources: memory, disk, a missing or failing device"},
        {"5", "damaged or unsupported store"},
        {"70", "internal error; please report it"},
        {"129 130 143", "hang-up, Ctrl-C, SIGTERM; no half-written result is left"},
    };
    return table;
}

std::string exit_code_table() {
    std::string text = "Exit codes:\n";
    for (const auto& [codes, meaning] : exit_codes()) text += fmt::format("  {:<12} {}\n", codes, meaning);
    return text;
}

std::string to_text(const help_page& page, bool all) {
    std::string text = fmt::format("quern {} - {}\n\nUsage: quern {} {}\n\n", page.name, page.summary,
                                   page.name, page.usage);
    text += wrapped(page.description, 0);
    std::string heading, common;
    for (const help_line& line : page.lines) {
        if (line.is_common && !all) {
            common.append(" ").append(long_name(line.left));
            continue;
        }
        if (line.heading != heading) text += fmt::format("\n{}:\n", heading = line.heading);
        append_line(text, line);
    }
    if (!common.empty()) {
        text += fmt::format("\nCommon options (quern {} --help-all explains them):\n{}", page.name,
                            wrapped(common.substr(1), 2));
    }
    text += "\nExamples:\n";
    for (const auto& [line, meaning] : page.examples)
        text += fmt::format("  {}\n{}", line, wrapped(meaning, 6));
    text += '\n';
    return text + (all ? exit_code_table()
                       : wrapped("Exit codes: 0 success, 1 nothing found, 2 usage, 3 invalid input, 4 "
                                 "resources, 5 damaged store; quern --help lists all.",
                                 0));
}

}  // namespace quern::cli
