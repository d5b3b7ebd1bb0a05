// SPDX-License-Identifier: Apache-2.0
// Help pages: wrapped to 80 columns, grouped under headings, with defaults, examples and exit codes.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace quern::cli {

struct help_line {
    std::string heading;
    std::string left;  ///< the option as it is typed
    std::string help;
    bool is_common = false;  ///< one of the options that all commands share
};

struct help_page {
    std::string name, summary, usage, description;
    std::vector<help_line> lines;
    std::vector<std::pair<std::string, std::string>> examples;  ///< a command, and what it does
};

/// Unless `all` is true, common options are one paragraph of names and exit codes one line.
std::string to_text(const help_page& page, bool all);

/// Paragraphs wrapped to a page of 80 columns, each line indented.
std::string wrapped(std::string_view text, std::size_t indent);

std::string exit_code_table();

}  // namespace quern::cli
