// SPDX-License-Identifier: Apache-2.0
// A library to be preloaded, with which one system call of a program fails: QUERN_FAULT=CALL:N:CODE, where CALL is one of the
// names below, N counts its calls from 1, and CODE is the errno value to fail with; with N+, every later one fails as well.
// Where QUERN_FAULT_LOG names a file, it gets one line for each name at the program's end ("CALL COUNT"), and "fired" when the
// call fails. Where QUERN_FAULT_SITES names a file, each call adds "CALL N SITE" to it: calls of the same SITE came from the same
// places of the program. With QUERN_FAULT_SHOW the callers of the failing call are shown. QUERN_THREADS=N: at most N threads next to the first live at a time.
//
// What is not the program's own work is not counted: calls before main(), standard input, output and error, and files of the
// system. "memory" is any allocation: of the C library, and of pages that belong to no file.
#include <dirent.h>
#include <dlfcn.h>
#include <execinfo.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

namespace {

constexpr std::array<std::string_view, 19> names = {
    "open",   "read", "write", "fsync", "close",  "rename", "link",    "mkdir", "ftruncate", "fallocate",
    "unlink", "mmap", "fstat", "flock", "thread", "stat",   "readdir", "pipe",  "memory"};
std::array<std::atomic<long>, names.size()> counts{};

struct fault {
    std::size_t call = names.size();
    long at = 0;
    bool later_too = false;
    int code = EIO;
};

fault parsed() {
    fault wanted;
    const char* const text = std::getenv("QUERN_FAULT");
    if (text == nullptr) return wanted;
    char name[16] = {};
    if (std::sscanf(text, "%15[a-z]:%ld+:%d", name, &wanted.at, &wanted.code) == 3) {
        wanted.later_too = true;
    } else if (std::sscanf(text, "%15[a-z]:%ld:%d", name, &wanted.at, &wanted.code) != 3) {
        std::abort();
    }
    for (std::size_t i = 0; i < names.size(); ++i) {
        if (names[i] == name) wanted.call = i;
    }
    if (wanted.call == names.size()) std::abort();
    return wanted;
}

const fault& chosen() {
    static const fault wanted = parsed();
    return wanted;
}

std::atomic<bool> in_main{false};

/// By the system call itself, so that nothing here is counted.
void note(const char* text, const char* variable = "QUERN_FAULT_LOG") {
    const char* const path = std::getenv(variable);
    if (path == nullptr) return;
    const long file = syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_APPEND, 0600);
    if (file < 0) return;
    syscall(SYS_write, file, text, std::strlen(text));
    syscall(SYS_close, file);
}

/// On standard error, where QUERN_FAULT_SHOW is set: for who looks for the cause of a complaint.
void show_callers() {
    if (std::getenv("QUERN_FAULT_SHOW") == nullptr) return;
    void* callers[40];
    backtrace_symbols_fd(callers, backtrace(callers, 40), STDERR_FILENO);
}

/// Of an allocation fewer callers count: containers within containers would give each element a site of its own.
void note_site(std::string_view call, long number) {
    static const bool wanted = std::getenv("QUERN_FAULT_SITES") != nullptr;
    thread_local bool within = false;  // backtrace() allocates the first time
    if (!wanted || within) return;
    within = true;
    void* callers[20];
    const int depth = backtrace(callers, call == "memory" ? 9 : 20);
    std::size_t site = 14695981039346656037U;
    for (int i = 0; i < depth; ++i)
        site = (site ^ reinterpret_cast<std::size_t>(callers[i])) * 1099511628211U;
    char line[80];
    std::snprintf(line, sizeof line, "%.*s %ld %zx\n", static_cast<int>(call.size()), call.data(), number,
                  site);
    note(line, "QUERN_FAULT_SITES");
    within = false;
}

bool fails(std::string_view call) {
    if (!in_main) return false;
    std::size_t which = 0;
    while (names[which] != call) ++which;
    const long now = ++counts[which];
    note_site(call, now);
    const fault& wanted = chosen();
    if (which != wanted.call || (wanted.later_too ? now < wanted.at : now != wanted.at)) return false;
    note("fired\n");
    show_callers();
    errno = wanted.code;
    return true;
}

bool is_of_the_system(const char* path) {
    const std::string_view text = path;
    for (const std::string_view folder : {"/proc/", "/sys/", "/etc/", "/dev/", "/lib", "/usr/"}) {
        if (text.starts_with(folder)) return true;
    }
    return false;
}

template <class Function>
Function real(Function /*ours*/, const char* name) {
    return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

using program = int (*)(int, char**, char**);
program real_main = nullptr;

int counted_main(int count, char** arguments, char** environment) {
    in_main = true;
    return real_main(count, arguments, environment);
}

std::atomic<long> living{0};

struct counted_thread {
    void* (*work)(void*);
    void* given;

    static void* run(void* at) {
        const counted_thread self = *static_cast<counted_thread*>(at);
        delete static_cast<counted_thread*>(at);
        void* const result = self.work(self.given);
        --living;
        return result;
    }
};

struct at_the_end {
    ~at_the_end() {
        if (std::getenv("QUERN_FAULT") != nullptr) return;
        for (std::size_t i = 0; i < names.size(); ++i) {
            char line[64];
            std::snprintf(line, sizeof line, "%.*s %ld\n", static_cast<int>(names[i].size()), names[i].data(),
                          counts[i].load());
            note(line);
        }
    }
} const counted;

}  // namespace

#define QUERN_REAL(name) static const auto next = real(&name, #name)

extern "C" {

int __libc_start_main(program main, int count, char** arguments, void (*init)(), void (*fini)(),
                      void (*rtld_fini)(), void* stack_end) {
    QUERN_REAL(__libc_start_main);
    real_main = main;
    return next(counted_main, count, arguments, init, fini, rtld_fini, stack_end);
}

// The names by which the C library exports its own allocator: dlsym() itself allocates.
void* __libc_malloc(std::size_t bytes);
void* __libc_calloc(std::size_t count, std::size_t bytes);
void* __libc_realloc(void* at, std::size_t bytes);
void* __libc_memalign(std::size_t alignment, std::size_t bytes);

void* malloc(std::size_t bytes) {
    return fails("memory") ? nullptr : __libc_malloc(bytes);
}
void* calloc(std::size_t count, std::size_t bytes) {
    return fails("memory") ? nullptr : __libc_calloc(count, bytes);
}
void* realloc(void* at, std::size_t bytes) {
    return fails("memory") ? nullptr : __libc_realloc(at, bytes);
}
void* aligned_alloc(std::size_t alignment, std::size_t bytes) {
    return fails("memory") ? nullptr : __libc_memalign(alignment, bytes);
}
int posix_memalign(void** made, std::size_t alignment, std::size_t bytes) {
    if (fails("memory")) return ENOMEM;
    *made = __libc_memalign(alignment, bytes);
    return *made == nullptr ? ENOMEM : 0;
}

int open(const char* path, int flags, ...) {
    va_list more;
    va_start(more, flags);
    const mode_t mode = va_arg(more, mode_t);
    va_end(more);
    QUERN_REAL(open);
    return !is_of_the_system(path) && fails("open") ? -1 : next(path, flags, mode);
}
int open64(const char* path, int flags, ...) {
    va_list more;
    va_start(more, flags);
    const mode_t mode = va_arg(more, mode_t);
    va_end(more);
    QUERN_REAL(open64);
    return !is_of_the_system(path) && fails("open") ? -1 : next(path, flags, mode);
}
int openat(int folder, const char* path, int flags, ...) {
    va_list more;
    va_start(more, flags);
    const mode_t mode = va_arg(more, mode_t);
    va_end(more);
    QUERN_REAL(openat);
    return !is_of_the_system(path) && fails("open") ? -1 : next(folder, path, flags, mode);
}
int openat64(int folder, const char* path, int flags, ...) {
    va_list more;
    va_start(more, flags);
    const mode_t mode = va_arg(more, mode_t);
    va_end(more);
    QUERN_REAL(openat64);
    return !is_of_the_system(path) && fails("open") ? -1 : next(folder, path, flags, mode);
}
ssize_t read(int file, void* to, std::size_t bytes) {
    QUERN_REAL(read);
    return file > 2 && fails("read") ? -1 : next(file, to, bytes);
}
ssize_t pread(int file, void* to, std::size_t bytes, off_t at) {
    QUERN_REAL(pread);
    return fails("read") ? -1 : next(file, to, bytes, at);
}
ssize_t pread64(int file, void* to, std::size_t bytes, off64_t at) {
    QUERN_REAL(pread64);
    return fails("read") ? -1 : next(file, to, bytes, at);
}
ssize_t write(int file, const void* from, std::size_t bytes) {
    QUERN_REAL(write);
    return file > 2 && fails("write") ? -1 : next(file, from, bytes);
}
ssize_t pwrite(int file, const void* from, std::size_t bytes, off_t at) {
    QUERN_REAL(pwrite);
    return fails("write") ? -1 : next(file, from, bytes, at);
}
ssize_t pwrite64(int file, const void* from, std::size_t bytes, off64_t at) {
    QUERN_REAL(pwrite64);
    return fails("write") ? -1 : next(file, from, bytes, at);
}
ssize_t pwritev(int file, const iovec* from, int count, off_t at) {
    QUERN_REAL(pwritev);
    return fails("write") ? -1 : next(file, from, count, at);
}
ssize_t pwritev64(int file, const iovec* from, int count, off64_t at) {
    QUERN_REAL(pwritev64);
    return fails("write") ? -1 : next(file, from, count, at);
}
int fsync(int file) {
    QUERN_REAL(fsync);
    return fails("fsync") ? -1 : next(file);
}
int close(int file) {
    QUERN_REAL(close);
    const bool failing = file > 2 && fails("close");
    const int code = errno, result = next(file);
    if (!failing) return result;
    errno = code;
    return -1;
}
int rename(const char* from, const char* to) {
    QUERN_REAL(rename);
    return fails("rename") ? -1 : next(from, to);
}
int renameat2(int from_folder, const char* from, int to_folder, const char* to, unsigned flags) {
    QUERN_REAL(renameat2);
    return fails("rename") ? -1 : next(from_folder, from, to_folder, to, flags);
}
int link(const char* from, const char* to) {
    QUERN_REAL(link);
    return fails("link") ? -1 : next(from, to);
}
int mkdir(const char* path, mode_t mode) {
    QUERN_REAL(mkdir);
    return fails("mkdir") ? -1 : next(path, mode);
}
int ftruncate(int file, off_t bytes) {
    QUERN_REAL(ftruncate);
    return fails("ftruncate") ? -1 : next(file, bytes);
}
int ftruncate64(int file, off64_t bytes) {
    QUERN_REAL(ftruncate64);
    return fails("ftruncate") ? -1 : next(file, bytes);
}
int fallocate(int file, int mode, off_t at, off_t bytes) {
    QUERN_REAL(fallocate);
    return fails("fallocate") ? -1 : next(file, mode, at, bytes);
}
int fallocate64(int file, int mode, off64_t at, off64_t bytes) {
    QUERN_REAL(fallocate64);
    return fails("fallocate") ? -1 : next(file, mode, at, bytes);
}
int posix_fallocate(int file, off_t at, off_t bytes) {
    QUERN_REAL(posix_fallocate);
    return fails("fallocate") ? errno : next(file, at, bytes);
}
int posix_fallocate64(int file, off64_t at, off64_t bytes) {
    QUERN_REAL(posix_fallocate64);
    return fails("fallocate") ? errno : next(file, at, bytes);
}
int unlink(const char* path) {
    QUERN_REAL(unlink);
    return fails("unlink") ? -1 : next(path);
}
int unlinkat(int folder, const char* path, int flags) {
    QUERN_REAL(unlinkat);
    return fails("unlink") ? -1 : next(folder, path, flags);
}
void* mmap(void* at, std::size_t bytes, int protection, int flags, int file, off_t offset) {
    QUERN_REAL(mmap);
    return fails(file >= 0 ? "mmap" : "memory") ? MAP_FAILED
                                                : next(at, bytes, protection, flags, file, offset);
}
void* mmap64(void* at, std::size_t bytes, int protection, int flags, int file, off64_t offset) {
    QUERN_REAL(mmap64);
    return fails(file >= 0 ? "mmap" : "memory") ? MAP_FAILED
                                                : next(at, bytes, protection, flags, file, offset);
}
int fstat(int file, struct stat* status) {
    QUERN_REAL(fstat);
    return fails("fstat") ? -1 : next(file, status);
}
int fstat64(int file, struct stat64* status) {
    QUERN_REAL(fstat64);
    return fails("fstat") ? -1 : next(file, status);
}
int stat(const char* path, struct stat* status) {
    QUERN_REAL(stat);
    return !is_of_the_system(path) && fails("stat") ? -1 : next(path, status);
}
int stat64(const char* path, struct stat64* status) {
    QUERN_REAL(stat64);
    return !is_of_the_system(path) && fails("stat") ? -1 : next(path, status);
}
int lstat(const char* path, struct stat* status) {
    QUERN_REAL(lstat);
    return !is_of_the_system(path) && fails("stat") ? -1 : next(path, status);
}
int lstat64(const char* path, struct stat64* status) {
    QUERN_REAL(lstat64);
    return !is_of_the_system(path) && fails("stat") ? -1 : next(path, status);
}
DIR* opendir(const char* path) {
    QUERN_REAL(opendir);
    return !is_of_the_system(path) && fails("readdir") ? nullptr : next(path);
}
DIR* fdopendir(int folder) {
    QUERN_REAL(fdopendir);
    return fails("readdir") ? nullptr : next(folder);
}
dirent* readdir(DIR* folder) {
    QUERN_REAL(readdir);
    return fails("readdir") ? nullptr : next(folder);
}
dirent64* readdir64(DIR* folder) {
    QUERN_REAL(readdir64);
    return fails("readdir") ? nullptr : next(folder);
}
int pipe2(int* ends, int flags) {
    QUERN_REAL(pipe2);
    return fails("pipe") ? -1 : next(ends, flags);
}
int flock(int file, int operation) {
    QUERN_REAL(flock);
    return fails("flock") ? -1 : next(file, operation);
}
int pthread_create(pthread_t* made, const pthread_attr_t* attributes, void* (*work)(void*), void* given) {
    QUERN_REAL(pthread_create);
    if (fails("thread")) return errno;
    static const char* const limit = std::getenv("QUERN_THREADS");
    if (limit == nullptr) return next(made, attributes, work, given);
    if (++living > std::atol(limit)) {
        --living;
        return EAGAIN;
    }
    return next(made, attributes, counted_thread::run, new counted_thread{work, given});
}

}  // extern "C"
