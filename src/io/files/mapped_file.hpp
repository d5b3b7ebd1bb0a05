// SPDX-License-Identifier: Apache-2.0
// A file's bytes as memory: pages are read on access and shared by every process that maps them.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string_view>

namespace quern::io {

/// A whole file, mapped read-only. Move-only; moving it does not move the bytes. An empty file is an empty span. The
/// file must not be truncated while it is mapped (quern/base/lost_pages.hpp describes the consequence): stores are
/// replaced by renaming, never in place, and a renamed or removed file stays mapped.
class mapped_file {
  public:
    enum class access { normal, sequential, random };

    mapped_file() = default;
    /// Throws io_error if the path cannot be opened or mapped, or is not a regular file.
    explicit mapped_file(std::filesystem::path path, access expected = access::normal);
    mapped_file(mapped_file&& other) noexcept;
    mapped_file& operator=(mapped_file&& other) noexcept;
    mapped_file(const mapped_file&) = delete;  // two owners would unmap the same pages twice
    mapped_file& operator=(const mapped_file&) = delete;
    ~mapped_file();

    std::span<const std::byte> bytes() const noexcept { return {data_, size_}; }
    std::string_view text() const noexcept { return {reinterpret_cast<const char*>(data_), size_}; }
    std::size_t size() const noexcept { return size_; }
    const std::filesystem::path& path() const noexcept { return path_; }

  private:
    void unmap() noexcept;

    std::filesystem::path path_;
    const std::byte* data_ = nullptr;
    std::size_t size_ = 0;
};

}  // namespace quern::io
