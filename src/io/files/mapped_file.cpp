// SPDX-License-Identifier: Apache-2.0
#include "io/files/mapped_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <system_error>
#include <utility>

#include "device/files/descriptor.hpp"
#include "device/files/mapped_pages.hpp"
#include "device/files/watched_mapping.hpp"
#include "io/byte_source.hpp"
#include "quern/base/error.hpp"

namespace quern::io {

mapped_file::mapped_file(std::filesystem::path path, access expected) : path_(std::move(path)) {
    // O_NONBLOCK: a FIFO in place of a store file is refused below instead of blocking the open.
    const auto file = open_file(path_, O_RDONLY | O_NONBLOCK);
    struct stat status {};
    if (::fstat(file.number(), &status) != 0) throw io_error(path_.string(), "cannot open", errno);
    if (S_ISDIR(status.st_mode)) throw io_error(path_.string(), "cannot map", EISDIR);
    if (!S_ISREG(status.st_mode)) throw io_error(path_.string(), "cannot map", ENODEV);
    if (static_cast<std::uint64_t>(status.st_size) > SIZE_MAX) {
        throw io_error(path_.string(), "cannot map", EFBIG);
    }
    size_ = static_cast<std::size_t>(status.st_size);
    if (size_ == 0) return;
    void* address = ::mmap(nullptr, size_, PROT_READ, MAP_SHARED, file.number(), 0);
    if (address == MAP_FAILED) throw io_error(path_.string(), "cannot map", errno);
    data_ = static_cast<const std::byte*>(address);
    try {
        watch_mapping(address, size_, path_, status);
    } catch (...) {
        unmap();
        throw;
    }
    note_mapped_pages(data_, size_);
    if (expected != access::normal) {
        ::madvise(address, size_, expected == access::random ? MADV_RANDOM : MADV_SEQUENTIAL);
    }
}

mapped_file::mapped_file(mapped_file&& other) noexcept
    : path_(std::move(other.path_)),
      data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)) {}

mapped_file& mapped_file::operator=(mapped_file&& other) noexcept {
    if (this != &other) {
        unmap();
        path_ = std::move(other.path_);
        data_ = std::exchange(other.data_, nullptr);
        size_ = std::exchange(other.size_, 0);
    }
    return *this;
}

mapped_file::~mapped_file() {
    unmap();
}

void mapped_file::unmap() noexcept {
    if (data_ == nullptr) return;
    forget_mapped_pages(data_);
    end_watch(data_);
    ::munmap(const_cast<std::byte*>(data_), size_);
}

namespace {

namespace fs = std::filesystem;

}  // namespace

/// Everything there is to read; the size is known only at the end.
void whole_file::read_all(byte_source& source, memory_budget& memory) {
    constexpr std::uint64_t least = std::uint64_t{1} << 16, max = std::uint64_t{1} << 24;
    large_array<char> all(memory, "what " + name_ + " holds");
    std::uint64_t size = 0;
    for (std::uint64_t step = least;; step = std::min(2 * step, max)) {
        if (size == all.size()) all.grow(size + std::max<std::uint64_t>(1, std::min(step, memory.left())));
        const std::size_t got = source.read(all.span().subspan(size));
        if (got == 0) break;  // a short read may be the bytes before a damage
        size += got;
    }
    all.settle();
    memory_ = std::move(all);
    memory_size_ = size;
    in_memory_ = true;
}

whole_file::whole_file(const fs::path& path, const context& ctx, memory_budget& memory)
    : name_(path.string()) {
    std::error_code failure;
    const fs::file_status status = fs::status(path, failure);
    if (name_ != "-" && status.type() == fs::file_type::not_found)
        throw usage_error(name_ + ": no such file");
    if (name_ != "-" && fs::is_directory(status)) throw usage_error(name_ + " is a folder");
    if (name_ != "-" && fs::is_regular_file(status)) {
        mapped_ = mapped_file(path);
        size_on_disk_ = mapped_.size();
        return;
    }
    const auto source = open_bytes(path, ctx);
    read_all(*source, memory);
    size_on_disk_ = source->consumed();
}

whole_file::whole_file(byte_source& source, memory_budget& memory) : name_(source.name()) {
    read_all(source, memory);
    size_on_disk_ = source.consumed();
}

bool whole_file::look_compressed() const {
    return !in_memory_ && is_compressed(text());
}

void whole_file::decompress(const context& ctx, memory_budget& memory) {
    read_all(*open_bytes_memory(mapped_.text(), name_, ctx), memory);
    mapped_ = mapped_file();
}

void whole_file::let_go() {
    memory_ = {};
    memory_size_ = 0;
    mapped_ = mapped_file();
}

std::string_view whole_file::text() const noexcept {
    return in_memory_ ? std::string_view(memory_.data(), memory_size_) : mapped_.text();
}

std::span<const std::byte> whole_file::bytes() const noexcept {
    return std::as_bytes(std::span(text()));
}

}  // namespace quern::io
