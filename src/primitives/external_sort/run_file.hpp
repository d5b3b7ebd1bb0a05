// SPDX-License-Identifier: Apache-2.0
// The scratch file of an external sort: concatenated sorted runs, written once and read once. It bypasses the page cache
// (O_DIRECT) if the file system can: data that is read once gains nothing from a copy in memory outside the budget, and on
// the measured machines direct transfers are several times faster.
#pragma once

#include <sys/uio.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <future>
#include <span>
#include <utility>

#include "device/files/descriptor.hpp"
#include "quern/base/context.hpp"

namespace quern::primitives {

/// Offsets, lengths and memory of every transfer are multiples of this.
inline constexpr std::size_t disk_alignment = 4096;

/// For std::async: a new thread, or, if the system cannot create one, the thread that requests the result.
inline constexpr std::launch where_possible = std::launch::async | std::launch::deferred;

constexpr std::size_t rounded_up(std::size_t bytes, std::size_t unit = disk_alignment) {
    return (bytes + unit - 1) / unit * unit;
}

/// Several threads may transfer in parallel. Every failure is an io_error that names the file.
class run_file {
  public:
    explicit run_file(std::filesystem::path path);

    /// Reserves that many bytes at the end; returns their offset.
    std::uint64_t append_capacity(std::uint64_t bytes) noexcept {
        return std::exchange(size_, size_ + bytes);
    }
    /// Two consecutive ranges of memory.
    void write_at(std::uint64_t offset, std::span<const std::byte> first, std::span<const std::byte> second);
    void read_at(std::uint64_t offset, std::span<std::byte> out);
    /// The bytes are not needed again: frees their disk space. False if the file system cannot.
    bool discard(std::uint64_t offset, std::uint64_t bytes) noexcept;

    std::uint64_t bytes_written() const noexcept { return written_.load(std::memory_order_relaxed); }
    std::uint64_t bytes_read() const noexcept { return read_.load(std::memory_order_relaxed); }

  private:
    void use_cache() const;

    std::filesystem::path path_;
    descriptor file_;
    std::uint64_t size_ = 0;
    std::atomic<std::uint64_t> written_{0}, read_{0};
};

/// Calls transfer(i) for every i below `count`, from two threads including the caller's: one request waits for the disk
/// while the next is prepared. Checks the stop flag before each. The first exception ends it and is rethrown.
void transfer_all(const context& ctx, std::size_t count, const std::function<void(std::size_t)>& transfer);

}  // namespace quern::primitives
