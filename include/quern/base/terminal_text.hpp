// SPDX-License-Identifier: Apache-2.0
// Makes untrusted text safe for a terminal.
#pragma once

#include <string>
#include <string_view>

namespace quern {

enum class terminal_lines {
    one,   ///< tabs and line ends become spaces
    many,  ///< tabs and line ends (LF) are kept
};

/// The text without anything that controls the terminal or changes the direction of the surrounding text. C0
/// controls, DEL and the separators U+2028 and U+2029 become spaces. C1 controls, marks that embed, override or
/// isolate a direction (U+202A to U+202E, U+2066 to U+2069), and invalid UTF-8 become U+FFFD. The invisible
/// marks U+200E, U+200F and U+061C are removed. Cost: one pass.
std::string for_terminal(std::string_view text, terminal_lines lines = terminal_lines::one);

}  // namespace quern
