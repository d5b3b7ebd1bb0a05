// SPDX-License-Identifier: Apache-2.0
#include "io/files/scratch_folder.hpp"

#include <sys/statvfs.h>

#include <cerrno>
#include <system_error>

#include "io/files/temporary.hpp"
#include "quern/base/error.hpp"

namespace quern::io {
namespace {
constexpr std::string_view prefix = "quern-scratch-";
}

scratch_folder::scratch_folder(const context& run) {
    std::error_code failure;
    const auto base = std::filesystem::absolute(run.scratch_folder());
    std::filesystem::create_directories(base, failure);
    if (failure) throw io_error(base.string(), "cannot create", failure.value());
    remove_stale_temporaries(base, prefix);
    auto fresh = make_temporary_folder(base, prefix);
    path_ = std::move(fresh.path);
    lock_ = std::move(fresh.handle);
}

scratch_folder::~scratch_folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
}

std::uint64_t scratch_folder::free_bytes() const {
    struct statvfs disk {};
    if (::statvfs(path_.c_str(), &disk) != 0)
        throw io_error(path_.string(), "cannot look at the disk", errno);
    return static_cast<std::uint64_t>(disk.f_bavail) * disk.f_frsize;
}

}  // namespace quern::io
