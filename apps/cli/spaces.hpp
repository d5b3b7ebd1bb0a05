// SPDX-License-Identifier: Apache-2.0
// What the commands that ask a space of words share.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "quern/tasks/similar.hpp"
#include "session.hpp"

namespace quern::cli {

/// Opens a space of words; a store of documents is refused with the command that makes a space.
word_space open_space(const std::filesystem::path& path, session& run);

/// The word as typed, by the text options of the space. Where the space lacks it, says so on standard error, with near
/// spellings, and returns nothing: the command ends with exit code 1.
std::optional<std::uint32_t> known_word(const word_space& space, const std::string& typed, session& run);

struct numbered_line {
    std::string text;
    std::uint64_t number;  ///< in the file, from 1
};
/// Lines of a file that are not empty, without their ends and without a byte order mark; "-" is standard input. Throws
/// usage_error, io_error.
std::vector<numbered_line> lines_of_file(const std::string& path);

/// --top K, or all.
std::uint32_t parse_top(const std::string& text);

}  // namespace quern::cli
