// SPDX-License-Identifier: Apache-2.0
// The text of LaTeX's commands.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace quern::io {

/// Of a command whose arguments are not text, the number of these; of others the arguments stay.
std::optional<int> latex_arguments_that_are_no_text(std::string_view command);

/// The characters that a command shows.
std::optional<std::string_view> latex_character_of(std::string_view command);

/// The combining mark of an accent's command; 0 for other commands.
char32_t latex_mark_of(std::string_view name);

/// `base`, its first letter with the mark; composed, if Unicode has such a letter.
std::string with_latex_mark(std::string_view base, char32_t mark);

}  // namespace quern::io
