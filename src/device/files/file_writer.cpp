// SPDX-License-Identifier: Apache-2.0
#include "device/files/file_writer.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>

#include "quern/base/error.hpp"

namespace quern {

file_writer::file_writer(const std::filesystem::path& path, std::size_t buffer_bytes)
    : file_writer(open_file(path, O_WRONLY | O_CREAT | O_TRUNC), path, buffer_bytes) {}

file_writer::file_writer(descriptor file, std::filesystem::path path, std::size_t buffer_bytes)
    : file_(std::move(file)), path_(std::move(path)), capacity_(std::max<std::size_t>(buffer_bytes, 1)) {
    buffer_ = std::make_unique_for_overwrite<char[]>(capacity_);
}

void file_writer::append(std::string_view bytes) {
    if (bytes.size() > capacity_ - used_) {
        flush();
        if (bytes.size() >= capacity_) {
            write(bytes);
            return;
        }
    }
    if (!bytes.empty()) std::memcpy(buffer_.get() + used_, bytes.data(), bytes.size());
    used_ += bytes.size();
}

void file_writer::flush() {
    if (used_ == 0) return;
    write({buffer_.get(), used_});
    used_ = 0;
}

void file_writer::write(std::string_view bytes) {
    constexpr std::uint64_t step = std::uint64_t{16} << 20;
    write_all(file_, bytes, path_);
    flushed_ += bytes.size();
    if (!early_ || flushed_ - requested_ < step) return;
    // Only a hint: sync() checks whether the bytes are on the disk.
    ::sync_file_range(file_.number(), static_cast<off64_t>(requested_),
                      static_cast<off64_t>(flushed_ - requested_), SYNC_FILE_RANGE_WRITE);
    requested_ = flushed_;
}

void file_writer::sync() {
    flush();
    sync_file(file_, path_);
}

void file_writer::close() {
    if (!file_.is_open()) return;
    flush();
    // Network file systems report a full disk only here.
    if (::close(file_.release()) != 0 && errno != EINTR)
        throw io_error(path_.string(), "cannot write", errno);
}

void write_file(const std::filesystem::path& path, std::string_view bytes) {
    file_writer file(path);
    file.append(bytes);
    file.close();
}

void replace_file(const std::filesystem::path& path, std::string_view bytes) {
    std::filesystem::path fresh = path;
    fresh += ".new";
    std::error_code failed, ignored;
    try {
        write_file(fresh, bytes);
        std::filesystem::rename(fresh, path, failed);
        if (failed) throw io_error(path.string(), "cannot rename into place", failed.value());
    } catch (...) {
        std::filesystem::remove(fresh, ignored);
        throw;
    }
}

}  // namespace quern
