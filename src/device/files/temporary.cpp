// SPDX-License-Identifier: Apache-2.0
#include "device/files/temporary.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <ctime>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "base/hash.hpp"
#include "device/files/descriptor.hpp"
#include "quern/base/error.hpp"

namespace quern {
namespace {

namespace fs = std::filesystem;
constexpr std::size_t letters = 6;
constexpr std::string_view alphabet = "abcdefghijklmnopqrstuvwxyz0123456789";

/// Six letters that differ between processes and calls. Clashes are found by O_EXCL, so this need not be
/// unpredictable, only spread.
std::string random_letters() {
    static std::atomic<std::uint64_t> calls{0};
    timespec now{};
    ::clock_gettime(CLOCK_MONOTONIC, &now);
    std::uint64_t state = static_cast<std::uint64_t>(now.tv_nsec) ^
                          static_cast<std::uint64_t>(now.tv_sec) << 30 ^
                          static_cast<std::uint64_t>(::getpid()) << 44 ^ calls.fetch_add(1) << 20;
    std::string name;
    for (std::size_t i = 0; i < letters; ++i) {
        state = (state ^ state >> 31) * 0x9e3779b97f4a7c15U;
        name += alphabet[(state >> 40) % alphabet.size()];
    }
    return name;
}

bool same_file(const descriptor& handle, const fs::path& path) {
    struct stat opened {
    }, named{};
    return ::fstat(handle.number(), &opened) == 0 && ::lstat(path.c_str(), &named) == 0 &&
           opened.st_dev == named.st_dev && opened.st_ino == named.st_ino;
}

/// Locks a fresh temporary. False if another process took it for a leftover between its creation and this call, so that
/// a new one is needed. File systems without locks are accepted: sweepers spare what they cannot lock.
bool claim(const temporary& fresh) {
    if (::flock(fresh.handle.number(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) return false;
    struct stat opened {
    }, named{};
    if (::fstat(fresh.handle.number(), &opened) == 0 && ::lstat(fresh.path.c_str(), &named) == 0)
        return opened.st_dev == named.st_dev && opened.st_ino == named.st_ino;
    const int reason = errno;
    if (reason == ENOENT) return false;
    std::error_code ignored;
    fs::remove(fresh.path, ignored);
    throw io_error(fresh.path.string(), "cannot create", reason);
}

constexpr int attempts = 100;

/// The entries of `folder` named PREFIX + six letters, by name.
std::vector<fs::path> temporaries_in(const fs::path& folder, std::string_view prefix) {
    std::vector<fs::path> found;
    std::error_code ignored;
    for (fs::directory_iterator entry(folder, ignored), end; !ignored && entry != end;
         entry.increment(ignored)) {
        const std::string name = entry->path().filename().string();
        if (name.size() == prefix.size() + letters && name.starts_with(prefix) &&
            name.find_first_not_of(alphabet, prefix.size()) == std::string::npos) {
            found.push_back(entry->path());
        }
    }
    std::sort(found.begin(), found.end());
    return found;
}

/// Locks a temporary of this user whose owner is gone; no descriptor if the owner lives, or access is denied.
descriptor lock_stale(const fs::path& path) {
    descriptor handle(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    struct stat status {};
    if (!handle.is_open() || ::fstat(handle.number(), &status) != 0 || status.st_uid != ::geteuid())
        return {};
    if (::flock(handle.number(), LOCK_EX | LOCK_NB) != 0) return {};
    // Between open and lock the owner may have published it under another name, so the name is checked again.
    if (!same_file(handle, path)) return {};
    return handle;
}

}  // namespace

std::string temporary_prefix(const fs::path& final_name) {
    // Names have at most 255 bytes: the temporary of a very long name gets a shorter one.
    constexpr std::size_t longest = 220, kept = 180;
    std::string name = final_name.filename().string();
    if (name.size() > longest) name = name.substr(0, kept) + "-" + std::to_string(hash64(name));
    return "." + name + ".quern-";
}

temporary make_temporary_file(const fs::path& folder, std::string_view prefix) {
    for (int i = 0; i < attempts; ++i) {
        temporary fresh{folder / (std::string(prefix) + random_letters()), {}};
        try {
            fresh.handle = open_file(fresh.path, O_RDWR | O_CREAT | O_EXCL);
        } catch (const io_error& failure) {
            if (failure.code() == EEXIST) continue;
            require_folder(folder);
            throw;
        }
        if (claim(fresh)) return fresh;
    }
    throw io_error(folder.string(), "cannot create a temporary file", EEXIST);
}

temporary make_temporary_folder(const fs::path& folder, std::string_view prefix) {
    for (int i = 0; i < attempts; ++i) {
        temporary fresh{folder / (std::string(prefix) + random_letters()), {}};
        if (::mkdir(fresh.path.c_str(), 0700) != 0) {
            const int reason = errno;
            if (reason == EEXIST) continue;
            require_folder(folder);
            throw io_error(fresh.path.string(), "cannot create", reason);
        }
        try {
            fresh.handle = open_file(fresh.path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
        } catch (const io_error& failure) {
            if (failure.code() == ENOENT) continue;
            ::rmdir(fresh.path.c_str());
            throw;
        }
        if (claim(fresh)) return fresh;
    }
    throw io_error(folder.string(), "cannot create a temporary folder", EEXIST);
}

descriptor lock_file(const fs::path& path) {
    for (int i = 0; i < attempts; ++i) {
        // A lock only needs read access, which other users have. O_CREAT alone would not open their files on every
        // system.
        descriptor handle(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
        if (!handle.is_open() && errno == ENOENT) {
            handle =
                descriptor(::open(path.c_str(), O_RDONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666));
        }
        if (!handle.is_open()) {
            if (errno == EEXIST) continue;
            const int reason = errno;
            require_folder(parent_of(path));
            throw io_error(path.string(), "cannot lock", reason);
        }
        if (::flock(handle.number(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) return {};
        if (same_file(handle, path)) return handle;
    }
    throw io_error(path.string(), "cannot lock", EAGAIN);
}

void remove_stale_temporaries(const fs::path& folder, std::string_view prefix) noexcept try {
    take_over_temporary(folder, prefix, [](const fs::path&) { return false; });
} catch (...) {  // out of memory while listing: the leftovers wait for the next run
}

std::optional<temporary> take_over_temporary(const fs::path& folder, std::string_view prefix,
                                             const std::function<bool(const fs::path& leftover)>& wanted) {
    std::optional<temporary> taken;
    for (const fs::path& path : temporaries_in(folder, prefix)) {
        descriptor handle = lock_stale(path);
        if (!handle.is_open()) continue;
        if (!taken && wanted(path)) {
            taken = temporary{path, std::move(handle)};
            continue;
        }
        std::error_code ignored;
        fs::remove_all(path, ignored);
    }
    return taken;
}

void require_writable_folder(const std::filesystem::path& folder) {
    require_folder(folder);
    if (::faccessat(AT_FDCWD, folder.c_str(), W_OK | X_OK, AT_EACCESS) != 0)
        throw io_error(folder.string(), "cannot write in this folder", errno);
}

void require_possible_name(const std::filesystem::path& path, int code) {
    switch (code) {
        case ENOENT:
        case ENOTDIR:  // examining the folder finds the error
            return;
        case ENAMETOOLONG:
            throw usage_error(path.string() + ": the name is longer than the file system allows");
        case ELOOP:
            throw usage_error(path.string() + ": a symbolic link that leads to itself");
        default:
            throw io_error(path.string(), "cannot look there", code);
    }
}

}  // namespace quern
