// SPDX-License-Identifier: Apache-2.0
// Runs of an object of the library that keeps the context of its construction, such as vectors or a matrix on a GPU.
#pragma once

#include <nanobind/nanobind.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <string_view>
#include <thread>
#include <utility>

#include "quern/base/context.hpp"
#include "run.hpp"

namespace quern::python {

/// One call of an object at a time.
class turns {
  public:
    /// Holds the turn; destroy on the same thread.
    class turn {
      public:
        explicit turn(turns& of, std::unique_lock<std::timed_mutex> held) : of_(of), held_(std::move(held)) {
            of_.whose_ = std::this_thread::get_id();
        }
        turn(const turn&) = delete;  // there is one
        turn& operator=(const turn&) = delete;
        ~turn() { of_.whose_ = std::thread::id(); }

      private:
        turns& of_;
        std::unique_lock<std::timed_mutex> held_;
    };

    /// Waits; Ctrl-C ends the wait. Refuses a call from the progress listener of this thread's own call: `what` is "a search
    /// of this set".
    turn take(std::string_view what);

  private:
    std::timed_mutex lock_;
    std::atomic<std::thread::id> whose_{};
};

/// The context of the object, whose listeners and stop flag are those of the call in progress. The object must not
/// outlive this.
class kept_run {
  public:
    kept_run() = default;
    kept_run(const kept_run&) = delete;  // contexts point to it
    kept_run& operator=(const kept_run&) = delete;

    /// `resources` with the listeners of the calls.
    context for_object(const context& resources);

    /// Runs `work` with the listeners of `options`. `is_short`: work of some milliseconds is done on the calling thread
    /// if there is no progress to show.
    template <class Work>
    void call(const run_options& options, bool is_short, const Work& work) {
        if (is_short && options.progress.is_none()) {
            const nanobind::gil_scoped_release released;
            stop_ = 0;
            work();
            return;
        }
        run_options with_stop = options;
        with_stop.stop = &stop_;
        run(with_stop, [&](const context& ctx, calling_thread&) {
            current_ = &ctx;
            const std::shared_ptr<void> ended(nullptr, [&](void*) { current_ = nullptr; });
            work();
        });
    }

  private:
    std::atomic<int> stop_{0};
    const context* current_ = nullptr;  ///< of the call in progress
};

}  // namespace quern::python
