// SPDX-License-Identifier: Apache-2.0
#include "device/files/descriptor.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "quern/base/error.hpp"

namespace quern {

descriptor& descriptor::operator=(descriptor&& other) noexcept {
    if (this != &other) {
        close_quietly();
        number_ = std::exchange(other.number_, -1);
    }
    return *this;
}

void descriptor::close_quietly() noexcept {
    if (number_ >= 0) ::close(std::exchange(number_, -1));
}

descriptor open_file(const std::filesystem::path& path, int flags, unsigned mode) {
    int number = -1;
    do {
        number = ::open(path.c_str(), flags | O_CLOEXEC, mode);
    } while (number < 0 && errno == EINTR);
    if (number < 0) throw io_error(path.string(), (flags & O_CREAT) ? "cannot create" : "cannot open", errno);
    return descriptor(number);
}

void write_all(const descriptor& file, std::string_view bytes, const std::filesystem::path& path) {
    while (!bytes.empty()) {
        const ssize_t written = ::write(file.number(), bytes.data(), bytes.size());
        if (written < 0) {
            if (errno == EINTR) continue;
            throw io_error(path.string(), "cannot write", errno);
        }
        bytes.remove_prefix(static_cast<std::size_t>(written));
    }
}

std::size_t read_some(int number, std::span<char> out, const std::filesystem::path& path) {
    while (true) {
        const ssize_t got = ::read(number, out.data(), out.size());
        if (got >= 0) return static_cast<std::size_t>(got);
        if (errno != EINTR) throw io_error(path.string(), "cannot read", errno);
    }
}

void sync_file(const descriptor& file, const std::filesystem::path& path) {
    if (::fsync(file.number()) == 0 || errno == EINVAL || errno == EROFS) return;
    throw io_error(path.string(), "cannot write", errno);
}

void sync_folder(const std::filesystem::path& folder) {
    sync_file(open_file(folder, O_RDONLY | O_DIRECTORY), folder);
}

std::filesystem::path parent_of(const std::filesystem::path& path) {
    const auto& named = path.has_filename() ? path : path.parent_path();
    const auto parent = named.parent_path();
    return parent.empty() ? std::filesystem::path(".") : parent;
}

void require_folder(const std::filesystem::path& folder) {
    std::error_code failure;
    const auto type = std::filesystem::status(folder, failure).type();
    if (type == std::filesystem::file_type::not_found)
        throw usage_error("there is no folder " + folder.string());
    if (!failure && type != std::filesystem::file_type::directory)
        throw usage_error(folder.string() + " is not a folder");
}

}  // namespace quern
