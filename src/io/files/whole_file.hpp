// SPDX-License-Identifier: Apache-2.0
// All bytes of a file at once: mapped, or in memory where it is compressed or no regular file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "device/memory_budget.hpp"
#include "io/byte_source.hpp"
#include "io/files/mapped_file.hpp"
#include "io/graph/large_array.hpp"
#include "quern/base/context.hpp"

namespace quern::io {

/// Move-only. The bytes stay where they are when it moves.
class whole_file {
  public:
    whole_file() = default;
    /// As they lie on the disk; of a pipe and of standard input ("-") decompressed. Throws usage_error where there is no
    /// such file, io_error, invalid_input, out_of_memory, interrupted.
    whole_file(const std::filesystem::path& path, const context& run, memory_budget& memory);
    /// What is left to read of `source`.
    whole_file(byte_source& source, memory_budget& memory);

    /// Puts what compressed bytes hold in their place. Throws invalid_input where they are damaged, out_of_memory.
    void decompress(const context& run, memory_budget& memory);
    bool look_compressed() const;
    /// Keeps the name and the sizes alone.
    void let_go();

    std::span<const std::byte> bytes() const noexcept;
    std::string_view text() const noexcept;
    /// As the user gave it, for messages.
    const std::string& name() const noexcept { return name_; }
    std::uint64_t size_on_disk() const noexcept { return size_on_disk_; }
    /// Of the bytes, those that are not mapped; the budget no longer counts them.
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
