// SPDX-License-Identifier: Apache-2.0
// A file descriptor that closes itself, and the system calls that this folder needs, with errors as io_error.
// Interrupted calls are repeated; short writes are continued.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string_view>
#include <utility>

namespace quern {

/// Owns one open descriptor, or none (-1).
class descriptor {
  public:
    descriptor() = default;
    explicit descriptor(int number) noexcept : number_(number) {}
    descriptor(descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
    descriptor& operator=(descriptor&& other) noexcept;
    descriptor(const descriptor&) = delete;  // two owners would close the same number twice
    descriptor& operator=(const descriptor&) = delete;
    ~descriptor() { close_quietly(); }

    int number() const noexcept { return number_; }
    bool is_open() const noexcept { return number_ >= 0; }
    int release() noexcept { return std::exchange(number_, -1); }
    void close_quietly() noexcept;

  private:
    int number_ = -1;
};

/// open(2) with O_CLOEXEC; throws io_error ("cannot open" or "cannot create").
descriptor open_file(const std::filesystem::path& path, int flags, unsigned mode = 0666);
/// Writes all bytes; throws io_error ("cannot write"), ENOSPC included.
void write_all(const descriptor& file, std::string_view bytes, const std::filesystem::path& path);
/// One read(2): up to out.size() bytes, 0 at the end; throws io_error ("cannot read").
std::size_t read_some(int number, std::span<char> out, const std::filesystem::path& path);
/// fsync(2); throws io_error. Files that cannot be synchronised (a pipe, a device) are left as they are.
void sync_file(const descriptor& file, const std::filesystem::path& path);
/// fsync of a folder, so that names created in it or renamed into it survive a power cut.
void sync_folder(const std::filesystem::path& folder);
/// The folder a path lies in: "." for a bare name. A path that ends in '/' counts without it.
std::filesystem::path parent_of(const std::filesystem::path& path);
/// Throws usage_error if the folder does not exist: outputs are created in existing folders only.
void require_folder(const std::filesystem::path& folder);

}  // namespace quern
