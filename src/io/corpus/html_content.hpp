// SPDX-License-Identifier: Apache-2.0
// Chooses the main text of a page among its elements.
#pragma once

#include <cstdint>
#include <vector>

#include "io/corpus/html_blocks.hpp"

namespace quern::io {

/// The bytes of memory that a choice takes.
std::uint64_t choice_memory(const html_blocks& page);

/// For each element whether its text belongs to the page's main text.
std::vector<bool> choose_main_text(const html_blocks& page);

/// Everything except elements only for readers without scripts, unless these are most of the page.
std::vector<bool> choose_shown_text(const html_blocks& page);

}  // namespace quern::io
