// SPDX-License-Identifier: Apache-2.0
// A whole file as one text: mapped where its bytes are the text, else decompressed in memory.
#pragma once

#include <filesystem>
#include <string_view>
#include <vector>

#include "io/files/mapped_file.hpp"
#include "quern/base/context.hpp"

namespace quern::io {

/// Move-only; the text stays where it is when it moves. "-" is standard input. A byte order mark is left out. Throws
/// usage_error (no such file), io_error, invalid_input where compressed data are damaged.
class text_of_file {
  public:
    text_of_file() = default;
    text_of_file(const std::filesystem::path& path, const context& run);
    std::string_view text() const { return text_; }

  private:
    mapped_file file_;
    std::vector<char> decoded_;
    std::string_view text_;  ///< of one of the two
};

}  // namespace quern::io
