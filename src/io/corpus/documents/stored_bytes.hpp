// SPDX-License-Identifier: Apache-2.0
// Bytes that can be read at any position: a file, or memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "device/files/descriptor.hpp"

namespace quern::io {

/// Reading is pure: from any thread.
class stored_bytes {
  public:
    virtual ~stored_bytes() = default;
    virtual std::uint64_t size() const = 0;
    /// Fills `out` from `offset` on; fewer bytes only at the end. Throws io_error.
    virtual std::size_t read_at(std::uint64_t offset, std::span<char> out) const = 0;
    /// A descriptor of a file with these bytes, for another program; read from the beginning. Throws io_error.
    virtual descriptor as_file() const = 0;
};

class file_bytes_at final : public stored_bytes {
  public:
    /// Throws io_error.
    explicit file_bytes_at(std::filesystem::path path);
    std::uint64_t size() const override { return size_; }
    std::size_t read_at(std::uint64_t offset, std::span<char> out) const override;
    descriptor as_file() const override;

  private:
    std::filesystem::path path_;
    descriptor file_;
    std::uint64_t size_ = 0;
};

class memory_bytes_at final : public stored_bytes {
  public:
    /// `bytes` must outlive this object.
    explicit memory_bytes_at(std::string_view bytes) : bytes_(bytes) {}
    std::uint64_t size() const override { return bytes_.size(); }
    std::size_t read_at(std::uint64_t offset, std::span<char> out) const override;
    /// A copy in memory that the system keeps.
    descriptor as_file() const override;

  private:
    std::string_view bytes_;
};

}  // namespace quern::io
