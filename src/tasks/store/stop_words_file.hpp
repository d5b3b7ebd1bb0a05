// SPDX-License-Identifier: Apache-2.0
// A user's stop words are stored with the index, because a query must be analysed like the collection.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "quern/base/text_options.hpp"
#include "quern/text/analyzer.hpp"

namespace quern {

inline constexpr std::string_view stop_words_file_name = "stop_words.txt";

/// If `text.stop_words` names a file, copies it into `store`; returns the options to record, in which the file's name
/// is "@" and its content's hash. Throws usage_error if it cannot be read.
text_options keep_stop_words(const text_options& text, const std::filesystem::path& store);

/// The options for analysing a query: a recorded file becomes the copy in `store`. Throws as `check_stop_words`.
text_options with_stop_words_of(const text_options& recorded, const std::filesystem::path& store);

/// Bytes of the copy in `store`, 0 if the options record none. Throws damaged_store if it is missing or differs from
/// the recorded one.
std::uint64_t check_stop_words(const text_options& recorded, const std::filesystem::path& store);

/// Makes the analyzers of a store, which follow the rules of its corpus. It holds the words of a recorded file, because
/// the store may be replaced or removed later.
class analyzer_maker {
  public:
    /// Throws as check_stop_words.
    analyzer_maker(const text_options& recorded, const std::filesystem::path& store);
    text::analyzer make() const;

  private:
    text_options text_;
    std::optional<std::vector<std::string>> stop_words_;  // of a recorded file
};

/// The options as `keep_stop_words` would record them.
text_options as_recorded(const text_options& text);

}  // namespace quern
