// SPDX-License-Identifier: Apache-2.0
// A column of strings as a section: all bytes, then (at a multiple of 8) where each string ends.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string_view>

#include "io/store/section.hpp"

namespace quern::io {

/// Appends strings one by one; the ends are kept in a scratch file, so that memory stays constant.
class string_column_writer {
  public:
    string_column_writer(const std::filesystem::path& file, const std::filesystem::path& scratch_file)
        : section_(file), ends_(scratch_file) {}
    void append(std::string_view value);
    section_writer::summary finish();

  private:
    section_writer section_;
    file_writer ends_;
    std::uint64_t end_ = 0;
};

/// Reads string `index` of `count`.
std::string_view column_string(const section_view& column, std::uint64_t index, std::uint64_t count);

}  // namespace quern::io
