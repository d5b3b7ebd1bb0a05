// SPDX-License-Identifier: Apache-2.0
#include "io/files/atomic_folder.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <string>
#include <system_error>
#include <utility>

#include "device/files/temporary.hpp"
#include "quern/base/error.hpp"
#include "quern/base/lost_pages.hpp"

namespace quern::io {
namespace {

namespace fs = std::filesystem;

fs::path renamed_away(const fs::path& path) {
    return parent_of(path) / (temporary_prefix(path) + "old");
}

bool exists_at(const fs::path& path) {
    struct stat status {};
    return ::lstat(path.c_str(), &status) == 0;
}

usage_error refused(const fs::path& path) {
    return usage_error(path.string() + " exists; --force replaces it");
}

void sync_tree(const fs::path& folder) {
    std::error_code failure;
    fs::recursive_directory_iterator entry(folder, failure), end;
    for (; !failure && entry != end; entry.increment(failure)) {
        if (entry->is_directory()) sync_folder(entry->path());
        if (entry->is_regular_file()) sync_file(open_file(entry->path(), O_RDONLY), entry->path());
    }
    if (failure) throw io_error(folder.string(), "cannot list", failure.value());
    sync_folder(folder);
}

void rename_or_throw(const fs::path& from, const fs::path& to, const fs::path& named) {
    if (::rename(from.c_str(), to.c_str()) != 0) {
        throw io_error(named.string(), "cannot rename into place", errno);
    }
}

/// The mode that mkdir would give: 0777 without the umask. The umask can only be read by setting it, so the mode is
/// taken from a folder created for that purpose.
void open_to_readers(const fs::path& folder) {
    const fs::path probe = folder / ".mode";
    struct stat status {};
    if (::mkdir(probe.c_str(), 0777) != 0) return;
    if (::stat(probe.c_str(), &status) == 0) ::chmod(folder.c_str(), status.st_mode & 07777U);
    ::rmdir(probe.c_str());
}

}  // namespace

namespace detail {

fs::path settled(const fs::path& path) {
    if (path.empty()) throw usage_error("the name of the output folder is empty");
    std::error_code failure;
    fs::path full = fs::absolute(path, failure).lexically_normal();
    if (!full.has_filename()) full = full.parent_path();
    if (!full.has_filename()) throw usage_error(path.string() + " cannot be an output folder");
    if (fs::is_symlink(fs::symlink_status(full, failure))) full = fs::weakly_canonical(full, failure);
    return full;
}

void replace_in_two_steps(const fs::path& fresh, const fs::path& final_name) {
    const fs::path old = renamed_away(final_name);
    std::error_code ignored;
    fs::remove_all(old, ignored);
    rename_or_throw(final_name, old, final_name);
    if (::rename(fresh.c_str(), final_name.c_str()) != 0) {
        const int code = errno;
        ::rename(old.c_str(), final_name.c_str());
        throw io_error(final_name.string(), "cannot rename into place", code);
    }
    ::rename(old.c_str(),
             fresh.c_str());  // else restore_renamed_away() removes it, before the next one is made
}

removed_at_end::~removed_at_end() {
    std::error_code ignored;
    if (!folder.empty()) fs::remove_all(folder, ignored);
}

void restore_renamed_away(const fs::path& final_name) {
    const fs::path old = renamed_away(final_name);
    if (!exists_at(old)) return;
    if (!exists_at(final_name) && ::rename(old.c_str(), final_name.c_str()) == 0) return;
    std::error_code ignored;
    fs::remove_all(old, ignored);
}

void begin(const fs::path& path, existing policy) {
    restore_renamed_away(path);
    struct stat status {};
    if (::stat(path.c_str(), &status) != 0) return;
    if (!S_ISDIR(status.st_mode)) throw usage_error(path.string() + " is not a folder");
    if (policy == existing::refuse) throw refused(path);
}

bool publish(const fs::path& temporary, const fs::path& path, existing policy) {
    check_mapped_files();
    sync_tree(temporary);
    const auto rename_with = [&](unsigned flags) {
        return ::renameat2(AT_FDCWD, temporary.c_str(), AT_FDCWD, path.c_str(), flags) == 0 ? 0 : errno;
    };
    // rename(2) would replace an empty folder even if the policy is refuse, hence NOREPLACE.
    int code = rename_with(RENAME_NOREPLACE);
    if (code == EEXIST && policy == existing::refuse) throw refused(path);
    bool old_left = false;
    if (code == EEXIST) {
        code = rename_with(RENAME_EXCHANGE);
        old_left = code == 0;
    }
    if (code == EINVAL || code == ENOSYS) {  // a file system without these flags
        if (!exists_at(path)) {
            rename_or_throw(temporary, path, path);
        } else {
            if (policy == existing::refuse) throw refused(path);
            replace_in_two_steps(temporary, path);
            old_left = true;
        }
    } else if (code != 0) {
        throw io_error(path.string(), "cannot rename into place", code);
    }
    return old_left;
}

}  // namespace detail

void check_folder_target(const fs::path& path) {
    (void)detail::settled(path);  // refuses names that no folder can have
    std::error_code failure;
    fs::path folder = path.has_filename() ? path : path.parent_path();
    if (fs::is_symlink(fs::symlink_status(folder, failure))) {
        const fs::path target = fs::weakly_canonical(folder, failure);
        if (failure) require_possible_name(path, failure.value());
        folder = target;
    }
    struct stat status {};
    if (::stat(folder.c_str(), &status) == 0) {
        if (!S_ISDIR(status.st_mode)) throw usage_error(path.string() + " exists and is not a folder");
        require_writable_folder(folder);
        return;
    }
    require_possible_name(path, errno);
    require_writable_folder(parent_of(folder));
}

void remove_leftovers(const fs::path& path) {
    const fs::path folder = detail::settled(path);
    remove_stale_temporaries(parent_of(folder), temporary_prefix(folder));
}

atomic_folder::atomic_folder(const fs::path& path, existing policy)
    : path_(detail::settled(path)), policy_(policy) {
    detail::begin(path_, policy_);
    const fs::path folder = parent_of(path_);
    remove_stale_temporaries(folder, temporary_prefix(path_));
    auto fresh = make_temporary_folder(folder, temporary_prefix(path_));
    temporary_ = std::move(fresh.path);
    lock_ = std::move(fresh.handle);
}

atomic_folder::~atomic_folder() {
    std::error_code ignored;
    if (!temporary_.empty()) fs::remove_all(temporary_, ignored);
}

void atomic_folder::commit() {
    if (temporary_.empty()) return;
    open_to_readers(temporary_);
    const bool old_left = detail::publish(temporary_, path_, policy_);
    lock_.close_quietly();
    const fs::path old = std::exchange(temporary_, {});  // it has its name, whatever fails now
    const detail::removed_at_end last(old_left ? old : fs::path());
    confirm_name(path_);
}

namespace fs = std::filesystem;

resumable_folder::resumable_folder(const fs::path& path, existing policy, const judge& goes_on)
    : path_(detail::settled(path)), policy_(policy) {
    detail::begin(path_, policy_);
    const fs::path parent = parent_of(path_);
    const std::string prefix = temporary_prefix(path_);
    auto left = take_over_temporary(parent, prefix, [&](const fs::path& notes) {
        std::error_code unseen;
        return fs::is_directory(fs::symlink_status(notes / inner_name, unseen)) &&
               goes_on(notes / inner_name, notes);
    });
    const bool exists_at = left.has_value();
    if (!exists_at) left = make_temporary_folder(parent, prefix);
    notes_ = std::move(left->path);
    lock_ = std::move(left->handle);
    if (exists_at) return;
    try {
        if (::mkdir(folder().c_str(), 0777) != 0) throw io_error(folder().string(), "cannot create", errno);
    } catch (...) {  // no destructor will run
        std::error_code ignored;
        fs::remove_all(notes_, ignored);
        throw;
    }
}

resumable_folder::~resumable_folder() {
    std::error_code ignored;
    if (!notes_.empty() && !kept_) fs::remove_all(notes_, ignored);
}

void resumable_folder::commit() {
    if (notes_.empty()) return;
    detail::publish(folder(), path_, policy_);
    const fs::path notes = std::exchange(notes_, {});  // it has its name, whatever fails now
    const detail::removed_at_end last(notes);
    confirm_name(path_);
}

}  // namespace quern::io
