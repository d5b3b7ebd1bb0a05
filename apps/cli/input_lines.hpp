// SPDX-License-Identifier: Apache-2.0
// Standard input, line by line, for commands that answer each line as it comes.
#pragma once

#include <cstddef>
#include <string>

namespace quern::cli {

/// The next line of standard input, without its end; of a longer one the first `most` bytes, and the rest is passed over:
/// then `whole` is false. False where there is none. Throws io_error.
bool next_line(std::string& line, std::size_t most, bool& whole);

}  // namespace quern::cli
