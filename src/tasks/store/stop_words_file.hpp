// SPDX-License-Identifier: Apache-2.0
// A user's stop words travel with the store, because a query must be read as the collection was.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "quern/base/text_options.hpp"
#include "text/analyzer.hpp"

namespace quern {

inline constexpr std::string_view stop_words_file_name = "stop_words.txt";

/// Where `text.stop_words` names a file, copies it into `store`; returns the options to record, in which the
/// file is named "@" and its content's hash. Throws usage_error where it cannot be read.
text_options keep_stop_words(const text_options& text, const std::filesystem::path& store);

/// The options with which to read a query: a recorded file becomes the copy in `store`. Throws as
/// `check_stop_words`.
text_options with_stop_words_of(const text_options& recorded, const std::filesystem::path& store);

/// Bytes of the copy in `store`, 0 where the options record none. Throws damaged_store where it is missing or
/// not what was recorded.
std::uint64_t check_stop_words(const text_options& recorded, const std::filesystem::path& store);

/// Makes the analyzers of a store, which read as its corpus was read. It holds the words of a recorded file: another store may
/// stand in this one's place later, or none.
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
