// SPDX-License-Identifier: Apache-2.0
// Appends bytes to one file through a buffer, and reports when the disk is full or fails.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string_view>
#include <type_traits>

#include "device/files/descriptor.hpp"

namespace quern {

/// A buffered, append-only file. Not thread-safe. Every failure is an io_error that names the file and ends
/// with the system's reason (disk full: code() == ENOSPC). Bytes count as written only after flush() or
/// close(): the destructor drops what is still in the buffer, because it could not report a failure.
class file_writer {
  public:
    static constexpr std::size_t default_buffer_bytes = std::size_t{1} << 18;

    /// Creates the file, or empties an existing one.
    explicit file_writer(const std::filesystem::path& path, std::size_t buffer_bytes = default_buffer_bytes);
    /// Takes over an open descriptor; `path` is for messages.
    file_writer(descriptor file, std::filesystem::path path, std::size_t buffer_bytes = default_buffer_bytes);
    file_writer(file_writer&&) noexcept = default;
    file_writer& operator=(file_writer&&) noexcept = default;

    void append(std::string_view bytes);
    /// The bytes of the values as they lie in memory.
    template <class Value>
        requires std::is_trivially_copyable_v<Value>
    void append_values(std::span<const Value> values) {
        append({reinterpret_cast<const char*>(values.data()), values.size_bytes()});
    }
    /// Bytes appended so far, those in the buffer included.
    std::uint64_t size() const noexcept { return flushed_ + used_; }
    const std::filesystem::path& path() const noexcept { return path_; }

    /// From now on bytes are written back while more are appended, so that sync() waits for few. For kept files.
    void write_to_disk_early() noexcept { early_ = true; }

    /// Writes the buffer to the file.
    void flush();
    /// flush(), and waits until everything is on the disk.
    void sync();
    /// flush() and closes; a second call does nothing.
    void close();

  private:
    void write(std::string_view bytes);

    descriptor file_;
    std::filesystem::path path_;
    std::unique_ptr<char[]> buffer_;
    std::size_t capacity_;
    std::size_t used_ = 0;
    std::uint64_t flushed_ = 0;
    bool early_ = false;
    std::uint64_t requested_ = 0;  ///< bytes that the disk has been asked to take
};

/// Writes a small file as a whole; the contents of an existing one are lost. Throws io_error.
void write_file(const std::filesystem::path& path, std::string_view bytes);

/// The same atomically: a killed process leaves the old file or the new one, and perhaps PATH.new. Throws io_error.
void replace_file(const std::filesystem::path& path, std::string_view bytes);

}  // namespace quern
