// SPDX-License-Identifier: Apache-2.0
// Entries are never freed, only reused, and a signal handler finds them without a lock: it follows the list from its
// head, to which entries are only added, and reads the atomic members.
#include "device/files/watched_mapping.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string_view>
#include <utility>

#include "device/files/descriptor.hpp"
#include "quern/base/error.hpp"
#include "quern/base/lost_pages.hpp"

namespace quern {
namespace {

struct entry {
    std::atomic<std::uintptr_t> begin{0}, end{0};  // 0: free
    std::atomic<bool> lost{false};
    entry* next = nullptr;  // set before the entry is in the list

    // Not for the handler:
    std::filesystem::path file;
    std::string section;  // empty: of no store
    std::optional<struct stat> status;
    descriptor handle;  // of a section: a fifth of the cost of its name
    entry* next_unused = nullptr;
    bool is_listed = false;
};

struct lost_file {
    std::filesystem::path file;
    std::string section;
};

/// All mappings of this process. Lives as long as it.
struct mappings {
    std::atomic<entry*> head{nullptr};
    std::uintptr_t page_bytes = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));

    std::mutex mutex;                     // guards all below, and the entries' other members
    entry* unused = nullptr;              // entries to reuse, linked
    std::optional<lost_file> first_lost;  // of those that have ended

    entry* find(const void* memory) const noexcept {
        const auto begin = reinterpret_cast<std::uintptr_t>(memory);
        entry* at = head.load(std::memory_order_acquire);
        while (at != nullptr && at->begin.load(std::memory_order_relaxed) != begin) at = at->next;
        return at;
    }
};

std::atomic<mappings*> made{nullptr};  // for the handler, which must not make it

mappings& all_mappings() {
    static mappings& all = []() -> mappings& {
        auto* const fresh = new mappings;
        made.store(fresh, std::memory_order_release);
        return *fresh;
    }();
    return all;
}

bool is_same_moment(const timespec& a, const timespec& b) {
    // File systems may store whole seconds only, once the inode is evicted from memory.
    return a.tv_sec == b.tv_sec && (a.tv_nsec == b.tv_nsec || a.tv_nsec == 0 || b.tv_nsec == 0);
}

/// Only a file that still has its name can have changed under it. Files of other kinds may grow while they are read.
bool was_changed(const entry& of) {
    struct stat now {};
    if (!of.status) return false;
    if ((of.handle.is_open() ? ::fstat(of.handle.number(), &now) : ::stat(of.file.c_str(), &now)) != 0)
        return false;
    if (now.st_dev != of.status->st_dev || now.st_ino != of.status->st_ino) return false;
    if (now.st_size < of.status->st_size) return true;
    return !of.section.empty() &&
           (now.st_size != of.status->st_size || !is_same_moment(now.st_mtim, of.status->st_mtim));
}

[[noreturn]] void throw_lost(const std::filesystem::path& file, const std::string& section) {
    constexpr std::string_view what =
        "was cut or changed in place, or its disk lost a part of it, while it was in use";
    if (!section.empty()) throw damaged_store(file.string(), section, what);
    throw io_error(file.string(), what, EIO);
}

}  // namespace

void watch_mapping(const void* memory, std::size_t bytes, const std::filesystem::path& file,
                   const std::optional<struct stat>& status) {
    mappings& all = all_mappings();
    const std::lock_guard lock(all.mutex);
    entry* at = all.unused;
    if (at == nullptr) {
        at = new entry;
    } else {
        all.unused = at->next_unused;
    }
    at->file = file;
    at->section.clear();
    at->status = status;
    at->handle.close_quietly();
    at->lost.store(false, std::memory_order_relaxed);
    const auto begin = reinterpret_cast<std::uintptr_t>(memory);
    // Whole pages: reading ahead touches the rest of the last one, too.
    at->end.store((begin + bytes + all.page_bytes - 1) / all.page_bytes * all.page_bytes,
                  std::memory_order_relaxed);
    at->begin.store(begin, std::memory_order_release);
    if (at->is_listed) return;
    at->is_listed = true;
    at->next = all.head.load(std::memory_order_relaxed);
    all.head.store(at, std::memory_order_release);
}

void name_watched(const void* memory, const std::filesystem::path& file) {
    mappings& all = all_mappings();
    const std::lock_guard lock(all.mutex);
    if (entry* const at = all.find(memory)) at->file = file;
}

void watch_as_section(const void* memory, const std::string& name) {
    mappings& all = all_mappings();
    const std::lock_guard lock(all.mutex);
    entry* const at = all.find(memory);
    if (at == nullptr) return;
    at->section = name;
    // If no more files can be opened, it is examined by its name.
    at->handle = descriptor(::open(at->file.c_str(), O_PATH | O_CLOEXEC));
    struct stat opened {};
    if (!at->status || ::fstat(at->handle.number(), &opened) != 0 || opened.st_dev != at->status->st_dev ||
        opened.st_ino != at->status->st_ino) {
        at->handle.close_quietly();
    }
}

void end_watch(const void* memory) noexcept {
    mappings& all = all_mappings();
    const std::lock_guard lock(all.mutex);
    entry* const at = all.find(memory);
    if (at == nullptr) return;
    at->begin.store(0, std::memory_order_release);
    if (at->lost.load(std::memory_order_acquire) && !all.first_lost)
        all.first_lost = {std::move(at->file), std::move(at->section)};
    at->handle.close_quietly();
    at->next_unused = std::exchange(all.unused, at);
}

bool put_zeros_for_lost_page(void* address) noexcept {
    const mappings* const all = made.load(std::memory_order_acquire);
    if (all == nullptr) return false;
    const auto at = reinterpret_cast<std::uintptr_t>(address);
    for (entry* each = all->head.load(std::memory_order_acquire); each != nullptr; each = each->next) {
        const std::uintptr_t begin = each->begin.load(std::memory_order_acquire);
        const std::uintptr_t end = each->end.load(std::memory_order_relaxed);
        if (begin == 0 || at < begin || at >= end) continue;
        each->lost.store(true, std::memory_order_release);
        const std::uintptr_t into_page = at % all->page_bytes;
        char* const page = static_cast<char*>(address) - into_page;
        // To the end in one piece: page by page, a large file would take more mappings than a process may have.
        return ::mmap(page, end - at + into_page, PROT_READ,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) != MAP_FAILED;
    }
    return false;
}

void check_mapped_files() {
    mappings& all = all_mappings();
    const std::lock_guard lock(all.mutex);
    if (all.first_lost) throw_lost(all.first_lost->file, all.first_lost->section);
    for (const entry* each = all.head.load(std::memory_order_acquire); each != nullptr; each = each->next) {
        if (each->begin.load(std::memory_order_relaxed) == 0) continue;
        if (each->lost.load(std::memory_order_acquire) || was_changed(*each))
            throw_lost(each->file, each->section);
    }
}

}  // namespace quern
