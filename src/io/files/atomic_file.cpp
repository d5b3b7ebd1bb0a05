// SPDX-License-Identifier: Apache-2.0
#include "io/files/atomic_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdio>
#include <string>
#include <system_error>

#include "device/files/temporary.hpp"
#include "quern/base/error.hpp"
#include "quern/base/lost_pages.hpp"

namespace quern::io {
namespace {

namespace fs = std::filesystem;

/// The number of the descriptor of this process that a name is (/dev/fd/3), or leads to by links (/dev/stdout); else -1.
int own_descriptor(fs::path path) {
    constexpr int max_links = 8;
    const fs::path own = fs::path("/proc") / std::to_string(::getpid()) / "fd";
    std::error_code failure;
    for (int links = 0; links < max_links; ++links) {
        const fs::path folder = fs::weakly_canonical(parent_of(path), failure);
        if (failure) return -1;
        if (folder == own) {
            const std::string name = path.filename();
            int number = -1;
            const auto [end, wrong] = std::from_chars(name.data(), name.data() + name.size(), number);
            return wrong == std::errc{} && end == name.data() + name.size() ? number : -1;
        }
        const fs::path target = fs::read_symlink(path, failure);
        if (failure) return -1;
        path = target.is_absolute() ? target : folder / target;
    }
    return -1;
}

fs::path followed(const fs::path& path) {
    std::error_code failure;
    if (own_descriptor(path) >= 0) return path;
    if (!fs::is_symlink(fs::symlink_status(path, failure))) return path;
    fs::path target = fs::weakly_canonical(path, failure);
    if (failure) require_possible_name(path, failure.value());
    if (failure) throw io_error(path.string(), "cannot follow the link", failure.value());
    return target;
}

usage_error refused(const fs::path& path) {
    return usage_error(path.string() + " exists; --force replaces it");
}

/// Whether something exists there; refuses what cannot become a file, according to `policy`.
bool checked(const fs::path& path, existing policy, struct stat& old) {
    if (path.empty()) throw usage_error("the name of the output is empty");
    if (const int number = own_descriptor(path); number >= 0) {
        const int flags = ::fcntl(number, F_GETFL);
        if (flags < 0 || (flags & O_ACCMODE) == O_RDONLY)
            throw io_error(path.string(), "cannot write", EBADF);
        return true;
    }
    const bool exists = ::stat(path.c_str(), &old) == 0;
    if (!exists) require_possible_name(path, errno);
    if (exists && S_ISDIR(old.st_mode)) throw usage_error(path.string() + " is a folder");
    if (!path.has_filename()) throw usage_error(path.string() + " names a folder (expected a file)");
    if (exists && !S_ISREG(old.st_mode)) {
        if (::faccessat(AT_FDCWD, path.c_str(), W_OK, AT_EACCESS) != 0)
            throw io_error(path.string(), "cannot write", errno);
        return true;
    }
    if (exists && policy == existing::refuse) throw refused(path);
    require_writable_folder(parent_of(path));
    return exists;
}

/// As rename(2), but never overwrites: errno is EEXIST then.
int rename_over_nothing(const fs::path& from, const fs::path& to) {
    if (::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) == 0) return 0;
    if (errno != EINVAL && errno != ENOSYS) return -1;
    // For a file system without this flag: two steps. A first step without its second leaves a file that the next run
    // removes.
    if (::link(from.c_str(), to.c_str()) != 0) return -1;
    ::unlink(from.c_str());
    return 0;
}

/// Whoever may read the old file may read the new one, if possible; but not the group or others if the umask (visible
/// in the fresh file) withholds everything created from them: the new bytes may be more private than the old ones.
void keep_readers(const descriptor& fresh, const struct stat& old) {
    struct stat made {};
    if (::fstat(fresh.number(), &made) != 0) return;
    mode_t mode = old.st_mode & 07777U;
    if ((made.st_mode & S_IRGRP) == 0) mode &= ~static_cast<mode_t>(S_IRWXG);
    if ((made.st_mode & S_IROTH) == 0) mode &= ~static_cast<mode_t>(S_IRWXO);
    ::fchmod(fresh.number(), mode);
}

/// Opens the file for the bytes; sets `temporary_path` if that is not the final name.
descriptor open_target(const fs::path& path, existing policy, fs::path& temporary_path) {
    struct stat old {};
    const bool exists = checked(path, policy, old);
    if (const int number = own_descriptor(path); number >= 0) {
        constexpr int first_free = 3;  // 0 to 2 have a meaning
        const int copy = ::fcntl(number, F_DUPFD_CLOEXEC, first_free);
        if (copy < 0) throw io_error(path.string(), "cannot write", errno);
        return descriptor(copy);
    }
    if (exists && !S_ISREG(old.st_mode)) return open_file(path, O_WRONLY);
    const fs::path folder = parent_of(path);
    const std::string prefix = temporary_prefix(path);
    remove_stale_temporaries(folder, prefix);
    auto fresh = make_temporary_file(folder, prefix);
    if (exists) keep_readers(fresh.handle, old);
    temporary_path = std::move(fresh.path);
    return std::move(fresh.handle);
}

}  // namespace

void check_target(const fs::path& path, existing policy) {
    struct stat old {};
    checked(followed(path), policy, old);
}

void confirm_name(const fs::path& published) {
    try {
        sync_folder(parent_of(published));
    } catch (const io_error& failed) {
        throw io_error(
            published.string(),
            "is written and in place, but the disk did not confirm it, and a power cut may undo it",
            failed.code());
    }
}

atomic_file::atomic_file(const fs::path& path, existing policy)
    : path_(followed(path)), policy_(policy), writer_(open_target(path_, policy, temporary_), path_) {
    if (!temporary_.empty()) writer_.write_to_disk_early();
}

atomic_file::~atomic_file() {
    if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

void atomic_file::commit() {
    atomic_file* const alone[] = {this};
    commit_together(alone);
}

void atomic_file::commit_together(std::span<atomic_file* const> files) {
    for (atomic_file* const file : files) file->prepare();
    check_mapped_files();
    for (std::size_t i = 0; i < files.size(); ++i) {
        try {
            files[i]->publish();
        } catch (...) {
            for (atomic_file* const file : files.first(i)) file->take_back();
            throw;
        }
    }
    // The bytes are on the disk already, so that an error of close(2) is not a failure.
    for (const atomic_file* const file : files) file->confirm();
}

void atomic_file::prepare() {
    if (temporary_.empty()) return writer_.close();
    writer_.sync();
    if (policy_ == existing::refuse && fs::exists(fs::symlink_status(path_))) throw refused(path_);
}

void atomic_file::publish() {
    if (temporary_.empty()) {
        published_ = true;
        return;
    }
    if (policy_ == existing::replace) {
        if (::rename(temporary_.c_str(), path_.c_str()) != 0) {
            throw io_error(path_.string(), "cannot rename into place", errno);
        }
    } else if (rename_over_nothing(temporary_, path_) != 0) {
        if (errno == EEXIST) throw refused(path_);
        throw io_error(path_.string(), "cannot rename into place", errno);
    }
    temporary_.clear();
    published_ = true;
    is_file_ = true;
}

void atomic_file::take_back() {
    if (!is_file_ || policy_ != existing::refuse) return;
    ::unlink(path_.c_str());
    published_ = false;
}

void atomic_file::confirm() const {
    if (is_file_) confirm_name(path_);
}

}  // namespace quern::io
