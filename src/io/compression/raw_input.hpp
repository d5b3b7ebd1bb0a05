// SPDX-License-Identifier: Apache-2.0
// The bytes of a file, a pipe or a memory range, before any decompression.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "device/files/descriptor.hpp"
#include "quern/base/context.hpp"

namespace quern::io {

/// One reader thread at a time; consumed(), size(), name() and cancel() from any thread.
class raw_input {
  public:
    /// A file, or standard input for "-". Throws usage_error if it does not exist, io_error for other failures.
    raw_input(const std::filesystem::path& path, const context& ctx);
    /// Bytes that outlive this object; never copied.
    raw_input(std::string_view bytes, std::string name, const context& ctx);
    raw_input(const raw_input&) = delete;  // a position in a file is not shared
    raw_input& operator=(const raw_input&) = delete;

    /// The next bytes, as many as are available now (at least one), 0 at the end. On a pipe it waits, but reacts to the
    /// context's stop flag (throws interrupted) and to cancel() (returns 0) within a tenth of a second.
    std::size_t read(std::span<char> out);
    /// The first bytes, up to `count`, without consuming them; fewer only if the input is shorter.
    std::string_view peek(std::size_t count);
    void cancel() noexcept { cancelled_.store(true, std::memory_order_relaxed); }

    std::uint64_t consumed() const noexcept { return consumed_.load(std::memory_order_relaxed); }
    std::uint64_t size() const noexcept { return size_; }
    const std::string& name() const noexcept { return name_; }
    const context& ctx() const noexcept { return ctx_; }

  private:
    std::size_t read_file(std::span<char> out);
    bool wait_for_bytes() const;

    context ctx_;
    std::string name_;
    descriptor file_;
    int number_ = -1;          ///< file_'s, or standard input's; -1: memory
    bool may_block_ = false;   ///< a pipe, a terminal, a socket
    std::string_view memory_;  ///< bytes read but not yet consumed
    std::string peeked_;       ///< target of memory_ after peek()
    std::uint64_t size_ = 0;
    std::atomic<std::uint64_t> consumed_{0};
    std::atomic<bool> cancelled_{false};
};

}  // namespace quern::io
