// SPDX-License-Identifier: Apache-2.0
// Names of inputs as users type them: patterns, and lists in files. Tasks take paths; these functions make them.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace quern {

/// The paths that names stand for, in the order of the names. A name that exists is that path, whatever characters it
/// has, and so is "-". Any other name with *, ? or [ is a pattern of the shell: what it matches, in byte order of the
/// paths; ** is any number of folders; hidden names are matched only by a pattern that has the dot. A name that is
/// neither stays as it is, for the task to refuse.
/// Throws usage_error for a pattern that matches nothing, io_error if a folder cannot be listed.
/// Cost: one listing for each folder on the way.
std::vector<std::filesystem::path> expand_inputs(std::span<const std::filesystem::path> names);

/// The names in a file, one on each line, "-" for standard input; empty lines are skipped, and a carriage return at the
/// end of a line is not part of it. If the file has a zero byte, names end with zero bytes instead (find -print0).
/// Relative names count from the current folder. They are expanded as above.
/// Throws as expand_inputs does; usage_error if there is no name, if one is "-", or for more than 1 GiB; io_error.
std::vector<std::filesystem::path> read_input_list(const std::filesystem::path& file);

}  // namespace quern
