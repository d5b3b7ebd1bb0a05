// SPDX-License-Identifier: Apache-2.0
// Threads that mostly wait, for a device or for a disk. Computing loops run on the places' threads.
#pragma once

#include <cstddef>
#include <exception>
#include <thread>
#include <utility>
#include <vector>

#include "quern/base/error.hpp"

namespace quern {

/// Runs one piece of work on its own thread; wait() rethrows its exception.
class alongside {
  public:
    alongside() = default;
    alongside(const alongside&) = delete;  // the thread points to this object
    alongside& operator=(const alongside&) = delete;
    ~alongside() {
        if (thread_.joinable()) thread_.join();
    }
    template <class Work>
    void start(Work work) {
        thread_ = std::thread([this, work = std::move(work)] {
            try {
                work();
            } catch (...) {
                thrown_ = std::current_exception();
            }
        });
    }
    void wait() {
        if (thread_.joinable()) thread_.join();
        if (thrown_) std::rethrow_exception(std::exchange(thrown_, nullptr));
    }

  private:
    std::thread thread_;
    std::exception_ptr thrown_;
};

/// Calls work(s) for each of `count`, on one thread each if there are several. Of their exceptions, throws the first bad
/// value, so that the choice does not depend on the partition; otherwise the first.
template <class Work>
void on_threads_of_their_own(std::size_t count, const Work& work) {
    if (count == 1) return work(0);
    std::vector<std::exception_ptr> thrown(count);
    std::vector<std::jthread> threads;  // joined even if one cannot be created
    for (std::size_t s = 0; s < count; ++s) {
        threads.emplace_back([&, s] {
            try {
                work(s);
            } catch (...) {
                thrown[s] = std::current_exception();
            }
        });
    }
    for (std::jthread& thread : threads) thread.join();
    // Shards are in the order of their rows: the first bad value is that of the lowest row.
    std::exception_ptr first;
    for (const std::exception_ptr& one : thrown) {
        if (!one) continue;
        if (!first) first = one;
        try {
            std::rethrow_exception(one);
        } catch (const invalid_value&) {
            throw;
        } catch (...) {  // kept in `first`
        }
    }
    if (first) std::rethrow_exception(first);
}

}  // namespace quern
