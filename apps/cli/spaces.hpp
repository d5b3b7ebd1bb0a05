// SPDX-License-Identifier: Apache-2.0
// Shared by the commands that query a word space.
#pragma once

#include <cstdint>
#include <filesystem>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "quern/base/option.hpp"
#include "quern/tasks/similar.hpp"
#include "session.hpp"

namespace quern::cli {

/// Opens a word space; refuses a store of documents with a message that names the command for a word space.
word_space open_space(const std::filesystem::path& path, session& job);

/// The id of a typed word after the text options of the space. If the space lacks it, prints an error with
/// similar spellings and returns nothing: the command ends with exit code 1.
std::optional<std::uint32_t> known_word(const word_space& space, const std::string& typed, session& job);

struct numbered_line {
    std::string text;
    std::uint64_t number;  ///< in the file, from 1
};
/// The non-empty lines of a file, without line ends and byte order mark; "-" is standard input. Throws
/// usage_error, io_error.
std::vector<numbered_line> lines_of_file(const std::string& path);

/// How much of a ranking to write.
struct top_choice {
    std::uint32_t top = 20;
};
inline constexpr auto top_option =
    option_for<&top_choice::top>("top", "K|all", {.min = 1, .all = std::numeric_limits<std::uint32_t>::max()},
                                 "")
        .with_letter('k');

}  // namespace quern::cli
