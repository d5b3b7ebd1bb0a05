// SPDX-License-Identifier: Apache-2.0
#include "scratch_text.hpp"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>

#include "quern/base/error.hpp"

namespace quern::python {

scratch_text::scratch_text(const std::filesystem::path& folder) : folder_(folder) {
    std::string name = (folder / "quern-XXXXXX").string();
    file_ = ::mkostemp(name.data(), O_CLOEXEC);
    if (file_ < 0) throw io_error(folder.string(), "cannot create a temporary file in", errno);
    ::unlink(name.c_str());
}

scratch_text::~scratch_text() {
    if (!view_.empty()) ::munmap(const_cast<char*>(view_.data()), view_.size());
    if (file_ >= 0) ::close(file_);
}

void scratch_text::write(std::string_view bytes) {
    constexpr std::size_t enough = std::size_t{1} << 20;
    buffer_.append(bytes);
    if (buffer_.size() >= enough) flush();
}

void scratch_text::flush() {
    for (std::string_view rest = buffer_; !rest.empty();) {
        const ssize_t written = ::write(file_, rest.data(), rest.size());
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) throw io_error(folder_.string(), "cannot write a temporary file in", errno);
        rest.remove_prefix(static_cast<std::size_t>(written));
        size_ += static_cast<std::size_t>(written);
    }
    buffer_.clear();
}

void scratch_text::finish() {
    flush();
    std::string().swap(buffer_);
    if (size_ == 0) return;
    void* const mapped = ::mmap(nullptr, size_, PROT_READ, MAP_SHARED, file_, 0);
    if (mapped == MAP_FAILED) throw io_error(folder_.string(), "cannot map a temporary file in", errno);
    view_ = {static_cast<const char*>(mapped), size_};
    ::close(file_);
    file_ = -1;
}

}  // namespace quern::python
