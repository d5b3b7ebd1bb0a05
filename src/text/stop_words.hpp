// SPDX-License-Identifier: Apache-2.0
// Lists of words with little meaning by themselves.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "quern/base/text_options.hpp"

namespace quern::text {

/// The words of a list by its name: "none", a code of builtin_stop_lists(), or a file with one word a line. Words are
/// as written; the analyzer normalises them. Throws usage_error for an unknown name and for an unreadable file.
std::vector<std::string> read_stop_words(const std::string& name);

/// The same for the bytes of a file. Throws nothing.
std::vector<std::string> stop_words_of_file(std::string_view bytes);

/// The bytes of a user's stop-word file. Throws usage_error if it is not a file or cannot be read.
std::string read_stop_word_file(const std::string& path);

/// The codes of the built-in lists, sorted.
std::vector<std::string_view> builtin_stop_lists();

}  // namespace quern::text
