// SPDX-License-Identifier: Apache-2.0
// Scratch bytes on disk: appended once, then read at any position.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string_view>

#include "device/files/descriptor.hpp"
#include "device/files/file_writer.hpp"

namespace quern {

/// Not thread-safe while it grows; read_at may be called by many threads once nothing more is appended.
class spill_file {
  public:
    explicit spill_file(const std::filesystem::path& path) : writer_(path), reader_(open_for_reading(path)) {}

    /// Returns where the bytes begin.
    std::uint64_t append(std::string_view bytes) {
        const std::uint64_t begin = writer_.size();
        writer_.append(bytes);
        return begin;
    }
    /// Makes everything appended readable.
    void flush() { writer_.flush(); }
    /// Fills `out` with the bytes at `offset`; throws io_error, also if there are fewer.
    void read_at(std::uint64_t offset, std::span<char> out) const;

  private:
    static descriptor open_for_reading(const std::filesystem::path& path);

    file_writer writer_;
    descriptor reader_;
};

}  // namespace quern
