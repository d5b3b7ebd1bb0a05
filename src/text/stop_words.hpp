// SPDX-License-Identifier: Apache-2.0
// Lists of words that say little by themselves.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "quern/base/text_options.hpp"

namespace quern::text {

/// The words of a list by its name: "none", a code of builtin_stop_lists(), or a file with one word a line.
/// Words are as written; the analyzer normalises them. Throws usage_error for a name that is none of these
/// and for a file that cannot be read.
std::vector<std::string> read_stop_words(const std::string& name);

/// The same for the bytes of a file. Throws nothing.
std::vector<std::string> stop_words_of_file(std::string_view bytes);

/// The bytes of a user's file of stop words. Throws usage_error where it is none or cannot be read.
std::string read_stop_word_file(const std::string& path);

/// The codes of the lists that come with Quern, sorted.
std::vector<std::string_view> builtin_stop_lists();

}  // namespace quern::text
