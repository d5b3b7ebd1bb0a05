// SPDX-License-Identifier: Apache-2.0
// Standard input, line by line, for commands that answer each line as it arrives.
#pragma once

#include <cstddef>
#include <string>

namespace quern::cli {

/// Reads the next line of standard input, without its end. Of a line longer than `max` bytes it keeps the
/// first `max`, skips the rest and sets `whole` to false. Returns false at the end of the input. Throws
/// io_error.
bool next_line(std::string& line, std::size_t max, bool& whole);

}  // namespace quern::cli
