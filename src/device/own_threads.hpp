// SPDX-License-Identifier: Apache-2.0
// Threads that mostly wait, for a device or for a disk. Computing loops run on the places' threads.
#pragma once

#include <cstddef>
#include <exception>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "device/first_failure.hpp"
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

/// Calls work(i) for every i below `count`, on one thread each if there are several. Of their exceptions, throws the
/// invalid_value of the lowest i, else that of the lowest i. No call begins if a thread cannot be created, because calls may
/// wait for each other.
template <class Thread = std::jthread, class Work>
void on_threads_of_their_own(std::size_t count, const Work& work) {
    if (count == 1) return work(0);
    first_failure invalid, other;
    std::mutex creating;
    bool all_created = false;
    try {
        std::vector<Thread> threads;
        const std::lock_guard hold(creating);  // released before the threads are joined
        for (std::size_t i = 0; i < count; ++i) {
            threads.emplace_back([&, i] {
                if (const std::lock_guard wait(creating); !all_created) return;
                try {
                    work(i);
                } catch (const invalid_value&) {
                    invalid.keep(i);
                } catch (...) {
                    other.keep(i);
                }
            });
        }
        all_created = true;
    } catch (const std::system_error& e) {
        throw error("cannot create " + std::to_string(count) + " threads: " + e.code().message());
    }
    invalid.rethrow();
    other.rethrow();
}

}  // namespace quern
