// SPDX-License-Identifier: Apache-2.0
// Scripts that complete a typed command line in a shell: commands, options, and their values.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "help_page.hpp"

namespace quern::cli {

enum class shell { bash, zsh, fish };
inline constexpr std::string_view shell_names[] = {"bash", "zsh", "fish"};

/// The script for commands with these pages; `program` is the page of the program itself. Depends on nothing else. It
/// completes the names of an option's values where there are any (after the last comma of a list), folders and files
/// where the help says DIR, FILE, STORE and the like, files as arguments, and nothing for numbers.
std::string completion_script(shell for_shell, const help_page& program, std::span<const help_page> pages);

}  // namespace quern::cli
