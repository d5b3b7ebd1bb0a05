// SPDX-License-Identifier: Apache-2.0
#include "io/files/atomic_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <string>
#include <system_error>

#include "device/files/temporary.hpp"
#include "quern/base/error.hpp"

namespace quern::io {
namespace {

namespace fs = std::filesystem;

fs::path followed(const fs::path& path) {
    std::error_code failure;
    if (!fs::is_symlink(fs::symlink_status(path, failure))) return path;
    fs::path target = fs::weakly_canonical(path, failure);
    if (failure) throw io_error(path.string(), "cannot follow the link", failure.value());
    return target;
}

usage_error refused(const fs::path& path) {
    return usage_error(path.string() + " exists; --force replaces it");
}

/// Whether something is there; refuses what cannot become a file, as `policy` says.
bool checked(const fs::path& path, existing policy, struct stat& old) {
    if (::stat(path.c_str(), &old) != 0) {
        require_folder(parent_of(path));
        return false;
    }
    if (S_ISDIR(old.st_mode)) throw usage_error(path.string() + " is a folder");
    if (S_ISREG(old.st_mode) && policy == existing::refuse) throw refused(path);
    return true;
}

/// Opens what the bytes go to; sets `temporary_path` where that is not the final name.
descriptor open_target(const fs::path& path, existing policy, fs::path& temporary_path) {
    struct stat old {};
    const bool exists = checked(path, policy, old);
    if (exists && !S_ISREG(old.st_mode)) return open_file(path, O_WRONLY);
    const fs::path folder = parent_of(path);
    const std::string prefix = temporary_prefix(path);
    remove_stale_temporaries(folder, prefix);
    auto fresh = make_temporary_file(folder, prefix);
    if (exists)
        ::fchmod(fresh.handle.number(), old.st_mode & 07777U);  // keep who may read it, where possible
    temporary_path = std::move(fresh.path);
    return std::move(fresh.handle);
}

}  // namespace

void check_target(const fs::path& path, existing policy) {
    struct stat old {};
    checked(followed(path), policy, old);
}

atomic_file::atomic_file(const fs::path& path, existing policy)
    : path_(followed(path)), policy_(policy), writer_(open_target(path_, policy, temporary_), path_) {}

atomic_file::~atomic_file() {
    if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

void atomic_file::commit() {
    if (temporary_.empty()) {
        writer_.close();
        return;
    }
    writer_.sync();
    if (policy_ == existing::replace) {
        if (::rename(temporary_.c_str(), path_.c_str()) != 0) {
            throw io_error(path_.string(), "cannot rename into place", errno);
        }
    } else if (::link(temporary_.c_str(), path_.c_str()) == 0) {  // link, unlike rename, never overwrites
        ::unlink(temporary_.c_str());
    } else if (errno == EEXIST) {
        throw refused(path_);
    } else if (::renameat2(AT_FDCWD, temporary_.c_str(), AT_FDCWD, path_.c_str(), RENAME_NOREPLACE) != 0) {
        if (errno == EEXIST) throw refused(path_);
        throw io_error(path_.string(), "cannot rename into place", errno);
    }
    temporary_.clear();
    writer_.close();
    sync_folder(parent_of(path_));
}

}  // namespace quern::io
