// SPDX-License-Identifier: Apache-2.0
#include "input_lines.hpp"

#include <cerrno>
#include <cstdio>

#include "quern/base/error.hpp"

namespace quern::cli {

bool next_line(std::string& line, std::size_t max, bool& whole) {
    line.clear();
    whole = true;
    int c = std::getc(stdin);
    for (bool begun = c != EOF; begun && c != EOF && c != '\n'; c = std::getc(stdin)) {
        if (line.size() < max) {
            line += static_cast<char>(c);
        } else {
            whole = false;
        }
    }
    if (std::ferror(stdin) != 0) throw io_error("standard input", "cannot read", errno);
    return c == '\n' || !line.empty();
}

}  // namespace quern::cli
