// SPDX-License-Identifier: Apache-2.0
#include "primitives/external_sort/run_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <future>
#include <utility>

#include "quern/base/error.hpp"

namespace quern::primitives {
namespace {

descriptor create_past_the_cache(const std::filesystem::path& path) {
    constexpr int flags = O_RDWR | O_CREAT;
    try {
        return open_file(path, flags | O_DIRECT, 0600);
    } catch (const io_error& failure) {
        if (failure.code() != EINVAL) throw;
        return open_file(path, flags, 0600);  // for example, a file system in memory
    }
}

/// The two ranges, without the first `done` bytes.
std::size_t remaining(const std::span<const std::byte> (&parts)[2], std::size_t done, iovec (&out)[2]) {
    int count = 0;
    for (const auto& part : parts) {
        const std::size_t skipped = std::min(done, part.size());
        done -= skipped;
        // The system calls that write take pointers to non-const although they do not write there.
        if (part.size() > skipped)
            out[count++] = {const_cast<std::byte*>(part.data()) + skipped, part.size() - skipped};
    }
    return static_cast<std::size_t>(count);
}

}  // namespace

run_file::run_file(std::filesystem::path path)
    : path_(std::move(path)), file_(create_past_the_cache(path_)) {}

// A disk with larger blocks than expected, or the rest of a partial write, fails with EINVAL where the page cache succeeds.
// The flag is the file's: if two threads fail at once, one finds it already cleared, so each retries once in any case.
void run_file::use_cache() const {
    ::fcntl(file_.number(), F_SETFL, ::fcntl(file_.number(), F_GETFL) & ~O_DIRECT);
}

void run_file::write_at(std::uint64_t offset, std::span<const std::byte> first,
                        std::span<const std::byte> second) {
    const std::span<const std::byte> parts[2] = {first, second};
    const std::size_t bytes = first.size() + second.size();
    bool refused = false;
    for (std::size_t done = 0; done < bytes;) {
        iovec vectors[2];
        const auto count = static_cast<int>(remaining(parts, done, vectors));
        const ssize_t put = ::pwritev(file_.number(), vectors, count, static_cast<off_t>(offset + done));
        if (put < 0 && errno == EINTR) continue;
        if (put < 0 && errno == EINVAL && !std::exchange(refused, true)) {
            use_cache();
            continue;
        }
        if (put <= 0) throw io_error(path_.string(), "cannot write", put < 0 ? errno : ENOSPC);
        done += static_cast<std::size_t>(put);
    }
    written_.fetch_add(bytes, std::memory_order_relaxed);
}

void run_file::read_at(std::uint64_t offset, std::span<std::byte> out) {
    bool refused = false;
    for (std::size_t done = 0; done < out.size();) {
        const ssize_t got =
            ::pread(file_.number(), out.data() + done, out.size() - done, static_cast<off_t>(offset + done));
        if (got < 0 && errno == EINTR) continue;
        if (got < 0 && errno == EINVAL && !std::exchange(refused, true)) {
            use_cache();
            continue;
        }
        if (got <= 0) throw io_error(path_.string(), "cannot read", got < 0 ? errno : EIO);
        done += static_cast<std::size_t>(got);
    }
    read_.fetch_add(out.size(), std::memory_order_relaxed);
}

bool run_file::discard(std::uint64_t offset, std::uint64_t bytes) noexcept {
    return ::fallocate(file_.number(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(offset),
                       static_cast<off_t>(bytes)) == 0;
}

void transfer_all(const context& ctx, std::size_t count, const std::function<void(std::size_t)>& transfer) {
    std::atomic<std::size_t> next{0};
    const auto work = [&] {
        try {
            for (std::size_t i = next.fetch_add(1); i < count; i = next.fetch_add(1)) {
                ctx.check_stop();
                transfer(i);
            }
        } catch (...) {
            next.store(count);  // the other one can stop
            throw;
        }
    };
    std::future<void> other;  // waits in its destructor, so that `work` outlives it
    if (count > 1) other = std::async(where_possible, work);
    work();
    if (other.valid()) other.get();
}

}  // namespace quern::primitives
