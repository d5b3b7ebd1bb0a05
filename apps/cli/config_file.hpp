// SPDX-License-Identifier: Apache-2.0
// The file of --config: options by name, in TOML or INI syntax.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace quern::cli {

struct config_setting {
    /// Of the heading [SECTION] above the setting; empty at the top.
    std::string section;
    /// Of an option, without dashes.
    std::string name;
    /// Several only for a list; numbers and true are kept as text.
    std::vector<std::string> values;
    std::uint64_t line = 0;  ///< from 1
};

/// The settings in their order: KEY = VALUE, where VALUE is a string in single or double quotes, a list of
/// values, or a bare word up to the end of the line or a comment; a key without a value means true. Comments
/// begin with # or, on separate lines, with ;. Throws usage_error with file and line for anything else, for a
/// repeated key, and for a file of more than 1 MiB. Cost: one pass over the file.
std::vector<config_setting> read_config(const std::string& path);

}  // namespace quern::cli
