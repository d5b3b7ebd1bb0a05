// SPDX-License-Identifier: Apache-2.0
// A file's bytes as memory: pages are read on access and shared by every process that maps them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "device/large_array.hpp"
#include "device/memory_budget.hpp"
#include "io/byte_source.hpp"
#include "quern/base/context.hpp"

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

// All bytes of a file at once: mapped, or in memory if it is compressed or not a regular file.

/// Move-only; moving it does not move the bytes.
class whole_file {
  public:
    whole_file() = default;
    /// The bytes on the disk; for a pipe and standard input ("-"), decompressed. Throws usage_error if the file does
    /// not exist, io_error, invalid_input, out_of_memory, interrupted.
    whole_file(const std::filesystem::path& path, const context& ctx, memory_budget& memory);
    /// The rest of `source`.
    whole_file(byte_source& source, memory_budget& memory);

    /// Replaces compressed bytes by their contents. Throws invalid_input if they are damaged, out_of_memory.
    void decompress(const context& ctx, memory_budget& memory);
    bool look_compressed() const;
    /// Keeps only the name and the sizes.
    void let_go();

    std::span<const std::byte> bytes() const noexcept;
    std::string_view text() const noexcept;
    /// As the user gave it, for messages.
    const std::string& name() const noexcept { return name_; }
    std::uint64_t size_on_disk() const noexcept { return size_on_disk_; }
    /// Size of the bytes that are not mapped; the budget no longer counts them.
    std::uint64_t size_in_memory() const noexcept { return memory_size_; }

  private:
    void read_all(byte_source& source, memory_budget& memory);

    std::string name_;
    mapped_file mapped_;
    large_array<char> memory_;
    std::uint64_t memory_size_ = 0;
    bool in_memory_ = false;
    std::uint64_t size_on_disk_ = 0;
};

}  // namespace quern::io
