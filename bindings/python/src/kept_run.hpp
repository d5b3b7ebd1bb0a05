// SPDX-License-Identifier: Apache-2.0
// Runs of an object of the library that keeps the context of its construction, such as vectors or a matrix on a GPU.
#pragma once

#include <nanobind/nanobind.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <thread>
#include <utility>
#include <variant>

#include "quern/base/context.hpp"
#include "run.hpp"

namespace quern::python {

/// One call of an object at a time.
class turns {
  public:
    /// Holds the lock; destroy on the same thread.
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

/// Whether an object made with the resources `a` serves a call with `b`.
bool same_resources(const context& a, const context& b);

/// An object of the library that the first call makes, and leaves for the next ones with the same resources and the same
/// key: resident_matrix, resident_graph, ranked_list_set. Object has bytes().
template <class Object, class Key = std::monostate>
class kept_object {
  public:
    /// `call`: for messages, "a product of this matrix".
    explicit kept_object(std::string_view call) : call_(call) {}

    /// work(object) with the listeners of the call; make(ctx) first if no object serves it. `is_short`: as in kept_run.
    template <class Make, class Work>
    void call(const run_options& options, const Key& key, bool is_short, const Make& make, const Work& work) {
        const auto turn = turns_.take(call_);
        if (!object_ || key != key_ || !same_resources(made_for_, options.ctx)) {
            drop();
            run_.call(options, is_short, [&] { object_.emplace(make(run_.for_object(options.ctx))); });
            key_ = key;
            made_for_ = options.ctx;
        }
        const std::shared_ptr<void> ended(nullptr, [&](void*) { bytes_ = object_->bytes(); });
        run_.call(options, is_short, [&] { work(*object_); });
    }

    void release() {
        const auto turn = turns_.take(call_);
        drop();
    }
    /// As the last call left it.
    std::uint64_t bytes() const { return bytes_; }

  private:
    void drop() {
        bytes_ = 0;
        const nanobind::gil_scoped_release released;
        object_.reset();
    }

    std::string_view call_;
    turns turns_;
    kept_run run_;
    std::optional<Object> object_;
    Key key_{};
    context made_for_;
    std::uint64_t bytes_ = 0;  ///< the interpreter's lock protects it
};

}  // namespace quern::python
