// SPDX-License-Identifier: Apache-2.0
#include "device/files/mapped_pages.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <iterator>
#include <map>
#include <mutex>
#include <new>
#include <optional>
#include <string_view>
#include <thread>

#include "device/files/descriptor.hpp"
#include "device/files/room_for_memory.hpp"

namespace quern {
namespace mapped_pages_detail {

std::atomic<std::uint64_t> bytes_mapped{0};

namespace {

constexpr std::uint64_t mib = std::uint64_t{1} << 20;
/// Fewer mapped pages than this stay: releasing them would take longer than the work on them.
constexpr std::uint64_t min_given_back = 16 * mib;
/// More than the program and its libraries map without a GPU, so that pages which threads fault in meanwhile are not
/// counted as theirs. Those of a GPU's driver are more; they are seen before the first file is mapped.
constexpr std::uint64_t max_others = 32 * mib;
/// How fast a thread can fault pages in, in bytes per nanosecond: the kernel maps the pages around a fault with it, up
/// to 2 MiB in some microseconds.
constexpr std::uint64_t mapped_by_a_thread = 1024;
/// The longest and the shortest time between two checks, in nanoseconds.
constexpr std::int64_t longest_wait = 20'000'000, shortest_wait = 10'000;

struct resident_bytes {
    std::uint64_t all, of_files;
};

std::int64_t now() noexcept {
    const auto since = std::chrono::steady_clock::now().time_since_epoch();
    return std::chrono::duration_cast<std::chrono::nanoseconds>(since).count();
}

/// The files that the process maps, and how much of them is resident.
class registry {
  public:
    void add(const void* memory, std::size_t bytes) noexcept try {
        const std::lock_guard hold(mutex_);
        if (mapped_.empty()) {
            if (const std::optional<resident_bytes> held = resident()) libraries_ = held->of_files;
            others_ = std::min(others_, max_of_others());
        }
        if (!mapped_.try_emplace(memory, bytes).second) return;
        bytes_mapped.fetch_add(bytes, std::memory_order_relaxed);
        next_look_.store(0, std::memory_order_relaxed);  // the last check did not see these pages
    } catch (const std::bad_alloc&) {                    // these pages stay
    }
    void remove(const void* memory) noexcept {
        const std::lock_guard hold(mutex_);  // pages are not released while their owner unmaps them
        const auto found = mapped_.find(memory);
        if (found == mapped_.end()) return;
        bytes_mapped.fetch_sub(found->second, std::memory_order_relaxed);
        mapped_.erase(found);
    }

    bool has(const void* memory) noexcept {
        const std::lock_guard hold(mutex_);
        const auto after = mapped_.upper_bound(memory);
        if (after == mapped_.begin()) return false;
        const auto& [begin, bytes] = *std::prev(after);
        return static_cast<const char*>(memory) < static_cast<const char*>(begin) + bytes;
    }

    void keep_below(std::uint64_t bytes) noexcept {
        limit_.store(bytes, std::memory_order_relaxed);
        next_look_.store(0, std::memory_order_relaxed);
    }

    void look() noexcept {
        const std::uint64_t limit = limit_.load(std::memory_order_relaxed);
        if (limit == 0 || now() < next_look_.load(std::memory_order_relaxed)) return;
        // While one thread checks, the others wait: it may be preempted, and they would fault in further pages.
        const std::lock_guard hold(mutex_);
        if (now() < next_look_.load(std::memory_order_relaxed)) return;  // another thread has checked
        const std::optional<resident_bytes> held = resident();
        const std::int64_t wait = held ? wait_after(*held, limit) : longest_wait;
        next_look_.store(now() + wait, std::memory_order_relaxed);
    }

    void make_room(std::uint64_t bytes) noexcept {
        const std::uint64_t limit = limit_.load(std::memory_order_relaxed);
        if (limit == 0) return;
        const std::lock_guard hold(mutex_);
        const std::optional<resident_bytes> held = resident();
        if (held && held->all + bytes > limit && held->of_files >= others_ + min_given_back) release_all();
    }

  private:
    void release_all() noexcept {
        for (const auto& [memory, bytes] : mapped_)
            ::madvise(const_cast<void*>(memory), bytes, MADV_DONTNEED);
    }

    std::uint64_t max_of_others() const noexcept { return std::max(max_others, libraries_); }

    /// Releases pages beyond the limit; returns the time until the next check.
    std::int64_t wait_after(resident_bytes held, std::uint64_t limit) noexcept {
        const std::uint64_t own = held.all - std::min(held.all, held.of_files);
        const std::uint64_t without_mapped = own + std::max(others_, libraries_);
        if (without_mapped + bytes_mapped.load(std::memory_order_relaxed) <= limit) return longest_wait;
        if (held.all > limit && held.of_files >= others_ + min_given_back) {
            release_all();
            const std::optional<resident_bytes> left = resident();
            if (!left) return longest_wait;
            held = *left;
            // Running threads fault some pages in again at once, so this is the minimum seen, slowly rising.
            others_ =
                std::min({others_ == 0 ? held.of_files : others_ + mib, held.of_files, max_of_others()});
        }
        const std::uint64_t capacity = std::max(limit - std::min(limit, held.all), min_given_back);
        const std::uint64_t threads = std::max(1U, std::thread::hardware_concurrency());
        return std::clamp(static_cast<std::int64_t>(capacity / (mapped_by_a_thread * threads)), shortest_wait,
                          longest_wait);
    }

    /// From /proc; nothing if it is not available.
    std::optional<resident_bytes> resident() noexcept {
        if (!statm_.is_open()) statm_ = descriptor(::open("/proc/self/statm", O_RDONLY | O_CLOEXEC));
        char text[128];
        const ssize_t size = ::pread(statm_.number(), text, sizeof text, 0);
        if (size <= 0) return {};
        static const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
        std::uint64_t pages[3] = {};  // of all addresses, resident, of these mapped from files
        const char *at = text, *const end = text + size;
        for (std::uint64_t& number : pages) {
            while (at != end && *at == ' ') ++at;
            const auto read = std::from_chars(at, end, number);
            if (read.ec != std::errc()) return {};
            at = read.ptr;
        }
        return resident_bytes{pages[1] * page, pages[2] * page};
    }

    std::mutex mutex_;
    std::map<const void*, std::size_t> mapped_;
    descriptor statm_;
    std::uint64_t others_ = 0;     ///< pages of files that stay: the program itself and its libraries
    std::uint64_t libraries_ = 0;  ///< pages of files that were resident before the first file was mapped
    std::atomic<std::uint64_t> limit_{0};
    std::atomic<std::int64_t> next_look_{0};
};

/// Never destroyed: mappings may outlive every other object.
registry& all_mapped() {
    static registry& only = *new registry;
    return only;
}

}  // namespace

void look() noexcept {
    all_mapped().look();
}

}  // namespace mapped_pages_detail

void note_mapped_pages(const void* memory, std::size_t bytes) noexcept {
    mapped_pages_detail::all_mapped().add(memory, bytes);
}

void forget_mapped_pages(const void* memory) noexcept {
    if (memory != nullptr) mapped_pages_detail::all_mapped().remove(memory);
}

bool is_mapped(const void* memory) noexcept {
    return mapped_pages_detail::all_mapped().has(memory);
}

void make_room_for(std::uint64_t bytes) noexcept {
    using namespace mapped_pages_detail;
    if (bytes_mapped.load(std::memory_order_relaxed) > few_bytes) all_mapped().make_room(bytes);
}

void keep_resident_memory_below(std::uint64_t bytes) noexcept {
    mapped_pages_detail::all_mapped().keep_below(bytes);
}

}  // namespace quern
