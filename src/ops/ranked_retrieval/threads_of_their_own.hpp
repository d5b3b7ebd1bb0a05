// SPDX-License-Identifier: Apache-2.0
// Threads that wait more than they compute: for a device, for a disk. Loops that compute run on the places' threads.
#pragma once

#include <cstddef>
#include <exception>
#include <thread>
#include <utility>
#include <vector>

#include "quern/base/error.hpp"

namespace quern::ranked_retrieval_detail {

/// One piece of work on a thread of its own; what it throws is thrown by wait().
class alongside {
  public:
    alongside() = default;
    alongside(const alongside&) = delete;  // the thread points here
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

/// Calls work(s) for each of `count`, on a thread each where there are several. Of what they throw, the first bad value is
/// thrown, so that which one does not depend on the cut; else the first.
template <class Work>
void on_threads_of_their_own(std::size_t count, const Work& work) {
    if (count == 1) return work(0);
    std::vector<std::exception_ptr> thrown(count);
    std::vector<std::jthread> threads;  // joined also where one cannot be made
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
    // Shards are in the order of their rows: the first bad value is the one of the least row.
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

}  // namespace quern::ranked_retrieval_detail
