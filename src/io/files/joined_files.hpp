// SPDX-License-Identifier: Apache-2.0
// Files that hold consecutive segments of one long text, mapped as one contiguous range without copying.
//
// Memory is mapped in whole pages, but segments end anywhere. So a file begins with a copy of the bytes before it, back
// to the last multiple of `joint`: it is mapped over the end of the previous file, which has the same bytes there.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string_view>
#include <vector>

namespace quern::io {

/// Move-only. Views of its bytes are valid until the next append().
class joined_files {
  public:
    /// A multiple of the page size of every machine Quern runs on.
    static constexpr std::uint64_t joint = 64 << 10;

    joined_files() = default;
    joined_files(joined_files&& other) noexcept;
    joined_files& operator=(joined_files&& other) noexcept;
    joined_files(const joined_files&) = delete;  // two owners would unmap the same pages twice
    joined_files& operator=(const joined_files&) = delete;
    ~joined_files();

    std::span<const char> bytes() const noexcept { return {memory_, size_}; }
    std::uint64_t size() const noexcept { return size_; }
    /// The bytes with which the next file must begin.
    std::string_view overlap() const noexcept {
        return std::string_view(memory_, size_).substr(size_ - size_ % joint);
    }
    /// Adds the first `bytes` bytes of a file; overlap() of them are already mapped. The file must not be truncated
    /// afterwards; it may be removed. Throws io_error if it cannot be mapped or is shorter.
    void append(const std::filesystem::path& path, std::uint64_t bytes);

  private:
    void reserve(std::uint64_t bytes);
    void unmap() noexcept;

    char* memory_ = nullptr;
    std::uint64_t size_ = 0, reserved_ = 0;
    std::vector<std::uint64_t> begins_;  ///< where each file is mapped: it is visible up to the next one
};

}  // namespace quern::io
