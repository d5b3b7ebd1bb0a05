// SPDX-License-Identifier: Apache-2.0
// A library to be preloaded, which records what a program does to names and when it calls fsync(2), for
// tests/faults/power_loss.py. QUERN_TRACE names a folder: `log` gets one line for each call that succeeded, in their order, and
// what a file held at the Nth fsync of a process P is copied to the file P.N. Calls of several threads and processes are recorded
// one after the other.
//
// Lines, with tabs between their parts; files and folders are named by their inode numbers:
//   create FOLDER NAME INODE      mkdir FOLDER NAME INODE        link FOLDER NAME INODE
//   unlink FOLDER NAME            rename FOLDER NAME FOLDER NAME    exchange FOLDER NAME FOLDER NAME
//   fsync INODE P.N               fsync_folder INODE
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdarg>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string>

namespace {

std::recursive_mutex one_at_a_time;
using held = std::lock_guard<std::recursive_mutex>;

std::string file_of_trace(const std::string& name) {
    const char* const folder = std::getenv("QUERN_TRACE");
    return folder == nullptr ? std::string() : std::string(folder) + "/" + name;
}

/// By the system call itself, so that nothing here is recorded.
void append(const std::string& path, const char* bytes, std::size_t count) {
    const long file =
        syscall(SYS_openat, AT_FDCWD, path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (file < 0) std::abort();
    if (syscall(SYS_write, file, bytes, count) != static_cast<long>(count)) std::abort();
    syscall(SYS_close, file);
}

void note(const std::string& line) {
    const std::string path = file_of_trace("log");
    if (!path.empty()) append(path, (line + "\n").data(), line.size() + 1);
}

/// "FOLDER\tNAME" of a path.
std::string place_of(int folder, const char* path) {
    std::string name = path;
    while (name.size() > 1 && name.back() == '/') name.pop_back();
    const std::size_t slash = name.rfind('/');
    const std::string parent = slash == std::string::npos ? "." : slash == 0 ? "/" : name.substr(0, slash);
    struct stat status {};
    if (::fstatat(folder, parent.c_str(), &status, 0) != 0) return "0\t" + name;
    return std::to_string(status.st_ino) + "\t" +
           (slash == std::string::npos ? name : name.substr(slash + 1));
}

bool exists(int folder, const char* path) {
    struct stat status {};
    return ::fstatat(folder, path, &status, AT_SYMLINK_NOFOLLOW) == 0;
}

std::string inode_of(int folder, const char* path) {
    struct stat status {};
    return ::fstatat(folder, path, &status, AT_SYMLINK_NOFOLLOW) == 0 ? std::to_string(status.st_ino) : "0";
}

void note_fsync(int file) {
    static long count = 0;
    struct stat status {};
    if (::fstat(file, &status) != 0) return;
    if (S_ISDIR(status.st_mode)) return note("fsync_folder\t" + std::to_string(status.st_ino));
    if (!S_ISREG(status.st_mode) || std::getenv("QUERN_TRACE") == nullptr) return;
    const std::string name = std::to_string(::getpid()) + "." + std::to_string(++count);
    const std::string copy = file_of_trace(name);
    append(copy, "", 0);
    // Opened anew, as the descriptor may be one for writing only.
    const std::string own = "/proc/self/fd/" + std::to_string(file);
    const long from = syscall(SYS_openat, AT_FDCWD, own.c_str(), O_RDONLY | O_CLOEXEC);
    if (from < 0) std::abort();
    std::array<char, 1 << 16> block{};
    for (long got; (got = syscall(SYS_read, from, block.data(), block.size())) > 0;)
        append(copy, block.data(), static_cast<std::size_t>(got));
    syscall(SYS_close, from);
    note("fsync\t" + std::to_string(status.st_ino) + "\t" + name);
}

template <class Function>
Function real(Function /*ours*/, const char* name) {
    return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

/// Calls `open_it`, and records the file if it was made.
template <class Open>
int opened(int folder, const char* path, int flags, const Open& open_it) {
    if ((flags & O_CREAT) == 0) return open_it();
    const held lock(one_at_a_time);
    const bool old = exists(folder, path);
    const int file = open_it();
    const int code = errno;
    if (file >= 0 && !old) note("create\t" + place_of(folder, path) + "\t" + inode_of(folder, path));
    errno = code;
    return file;
}

/// Calls `change`, which returns 0 if it succeeded, and records `line` then.
template <class Change>
int changed(const std::string& line, const Change& change) {
    const int result = change();
    const int code = errno;
    if (result == 0) note(line);
    errno = code;
    return result;
}

}  // namespace

#define QUERN_REAL(name) static const auto next = real(&name, #name)
#define QUERN_MODE(flags, mode)               \
    va_list more;                             \
    va_start(more, flags);                    \
    const mode_t mode = va_arg(more, mode_t); \
    va_end(more)

extern "C" {

int open(const char* path, int flags, ...) {
    QUERN_MODE(flags, mode);
    QUERN_REAL(open);
    return opened(AT_FDCWD, path, flags, [&] { return next(path, flags, mode); });
}
int open64(const char* path, int flags, ...) {
    QUERN_MODE(flags, mode);
    QUERN_REAL(open64);
    return opened(AT_FDCWD, path, flags, [&] { return next(path, flags, mode); });
}
int openat(int folder, const char* path, int flags, ...) {
    QUERN_MODE(flags, mode);
    QUERN_REAL(openat);
    return opened(folder, path, flags, [&] { return next(folder, path, flags, mode); });
}
int openat64(int folder, const char* path, int flags, ...) {
    QUERN_MODE(flags, mode);
    QUERN_REAL(openat64);
    return opened(folder, path, flags, [&] { return next(folder, path, flags, mode); });
}
int fsync(int file) {
    QUERN_REAL(fsync);
    const held lock(one_at_a_time);
    const int result = next(file);
    const int code = errno;
    if (result == 0) note_fsync(file);
    errno = code;
    return result;
}
int mkdir(const char* path, mode_t mode) {
    QUERN_REAL(mkdir);
    const held lock(one_at_a_time);
    const int result = next(path, mode);
    const int code = errno;
    if (result == 0) note("mkdir\t" + place_of(AT_FDCWD, path) + "\t" + inode_of(AT_FDCWD, path));
    errno = code;
    return result;
}
int link(const char* from, const char* to) {
    QUERN_REAL(link);
    const held lock(one_at_a_time);
    return changed("link\t" + place_of(AT_FDCWD, to) + "\t" + inode_of(AT_FDCWD, from),
                   [&] { return next(from, to); });
}
int rename(const char* from, const char* to) {
    QUERN_REAL(rename);
    const held lock(one_at_a_time);
    return changed("rename\t" + place_of(AT_FDCWD, from) + "\t" + place_of(AT_FDCWD, to),
                   [&] { return next(from, to); });
}
int renameat2(int from_folder, const char* from, int to_folder, const char* to, unsigned flags) {
    QUERN_REAL(renameat2);
    const held lock(one_at_a_time);
    return changed(std::string((flags & RENAME_EXCHANGE) != 0 ? "exchange" : "rename") + "\t" +
                       place_of(from_folder, from) + "\t" + place_of(to_folder, to),
                   [&] { return next(from_folder, from, to_folder, to, flags); });
}
int unlink(const char* path) {
    QUERN_REAL(unlink);
    const held lock(one_at_a_time);
    return changed("unlink\t" + place_of(AT_FDCWD, path), [&] { return next(path); });
}
int rmdir(const char* path) {
    QUERN_REAL(rmdir);
    const held lock(one_at_a_time);
    return changed("unlink\t" + place_of(AT_FDCWD, path), [&] { return next(path); });
}
int remove(const char* path) {
    QUERN_REAL(remove);
    const held lock(one_at_a_time);
    return changed("unlink\t" + place_of(AT_FDCWD, path), [&] { return next(path); });
}
int unlinkat(int folder, const char* path, int flags) {
    QUERN_REAL(unlinkat);
    const held lock(one_at_a_time);
    return changed("unlink\t" + place_of(folder, path), [&] { return next(folder, path, flags); });
}

}  // extern "C"
