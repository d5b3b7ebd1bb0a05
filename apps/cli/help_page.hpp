// SPDX-License-Identifier: Apache-2.0
// Help pages: wrapped to 80 columns, grouped under headings, with defaults, examples and exit codes. Manual pages
// (man_page.hpp) and the completion of shells (shell_completion.hpp) are made from the same pages.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace quern::cli {

struct help_line {
    std::string heading;
    std::string left;  ///< the option as it is typed
    std::string help;
    bool is_common = false;                ///< one of the options that all commands share
    std::vector<std::string> values = {};  ///< the names that the value may have, if it has names
    bool is_repeatable = false;
};

/// What is typed for a line of a page: its names ("-o", "--output"; none for an argument), and what stands for the
/// value or the argument ("FILE"; empty for a flag).
struct typed_form {
    std::vector<std::string> names;
    std::string value;
};
typed_form form_of(const help_line& line);

struct help_page {
    std::string name, summary, usage, description;
    std::vector<help_line> lines;
    std::vector<std::pair<std::string, std::string>> examples;  ///< a command, and what it does
};

/// Unless `all` is true, common options are one paragraph of names and exit codes one line.
std::string to_text(const help_page& page, bool all);

/// Paragraphs wrapped to a page of 80 columns, each line indented.
std::string wrapped(std::string_view text, std::size_t indent);

struct exit_code_meaning {
    std::string_view codes, meaning;
};
std::span<const exit_code_meaning> exit_codes();
std::string exit_code_table();

}  // namespace quern::cli
