// SPDX-License-Identifier: Apache-2.0
#include "run.hpp"

#include <nanobind/stl/string.h>
#include <signal.h>

#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "parameters.hpp"
#include "quern/base/error.hpp"
#include "quern/base/threads_within.hpp"
#include "texts.hpp"

namespace nb = nanobind;

namespace quern::python {
namespace {

using clock = std::chrono::steady_clock;
constexpr auto between_checks = std::chrono::milliseconds(50);  ///< of signals, progress and messages

/// The messages of the run, until the calling thread passes them on.
struct message {
    log_level level;
    std::string text;
};
struct progress_state {
    std::string stage, unit;
    std::uint64_t done = 0, total = 0;
};

/// Between the thread of the call and those of the run.
class exchange final : public calling_thread {
  public:
    explicit exchange(const run_options& options)
        : progress_(options.progress),
          ctx_(with_threads_within_memory(options.ctx)),
          stop_(options.stop == nullptr ? own_stop_ : *options.stop) {
        stop_ = 0;
        ctx_.stop_signal = &stop_;
        ctx_.on_log = [this](log_level level, std::string_view text) {
            const std::lock_guard held(lock_);
            messages_.push_back({level, std::string(text)});
        };
        if (!progress_.is_none()) {
            ctx_.on_progress = [this](const progress& now) {
                const std::lock_guard held(lock_);
                state_ = {std::string(now.stage), std::string(now.unit), now.done, now.total};
                has_state_ = true;
            };
        }
    }

    const context& ctx() const { return ctx_; }

    void call(const std::function<void()>& work) override {
        std::unique_lock held(lock_);
        request next{&work};
        requests_.push_back(&next);
        changed_.notify_all();
        answered_.wait(held, [&] { return next.is_done; });
        if (next.failure) std::rethrow_exception(next.failure);
    }

    void finish(std::exception_ptr failure) {
        const std::lock_guard held(lock_);
        failure_ = std::move(failure);
        is_finished_ = true;
        changed_.notify_all();
    }

    /// On the calling thread, with the lock of the interpreter.
    void serve() {
        while (true) {
            request* next = nullptr;
            bool finished = false;
            {
                const nb::gil_scoped_release released;
                std::unique_lock held(lock_);
                changed_.wait_for(held, between_checks, [&] { return is_finished_ || !requests_.empty(); });
                finished = is_finished_;
                if (!requests_.empty()) next = requests_.front();
            }
            if (next != nullptr) answer(*next);
            // Between two pulls of a generator, too.
            if (finished || clock::now() - checked_ >= between_checks) check();
            if (finished) return;
        }
    }

    void rethrow() {
        if (raised_) std::rethrow_exception(raised_);
        if (failure_) std::rethrow_exception(failure_);
    }

  private:
    struct request {
        const std::function<void()>* work;
        bool is_done = false;
        std::exception_ptr failure = nullptr;
    };

    void answer(request& next) {
        std::exception_ptr failure;
        try {
            if (raised_) throw interrupted(SIGINT);
            (*next.work)();
        } catch (...) {
            failure = std::current_exception();
        }
        const nb::gil_scoped_release released;
        const std::lock_guard held(lock_);
        requests_.erase(requests_.begin());
        next.failure = std::move(failure);
        next.is_done = true;
        answered_.notify_all();
    }

    /// Signals, messages and progress. After the first exception only the end of the run counts.
    void check() {
        checked_ = clock::now();
        if (raised_) return;
        try {
            if (PyErr_CheckSignals() != 0) throw nb::python_error();
            pass_on();
        } catch (...) {
            raised_ = std::current_exception();
            stop_ = SIGINT;
        }
    }

    void pass_on() {
        std::vector<message> messages;
        progress_state state;
        bool has_state = false;
        {
            const std::lock_guard held(lock_);
            messages.swap(messages_);
            has_state = std::exchange(has_state_, false);
            if (has_state) state = state_;
        }
        if (!messages.empty()) {
            const nb::object logger = nb::module_::import_("logging").attr("getLogger")("quern");
            for (const message& m : messages)
                logger.attr(m.level == log_level::warning ? "warning" : "info")(
                    "%s", text_object(as_python(m.text)));
        }
        if (has_state) progress_(text_object(state.stage), state.done, state.total, text_object(state.unit));
    }

    nb::object progress_;
    context ctx_;
    std::atomic<int> own_stop_{0};
    std::atomic<int>& stop_;
    clock::time_point checked_ = clock::now();
    std::exception_ptr raised_;  ///< by Python code; used on the calling thread only

    std::mutex lock_;
    std::condition_variable changed_, answered_;
    std::vector<request*> requests_;
    std::vector<message> messages_;
    progress_state state_;
    bool has_state_ = false, is_finished_ = false;
    std::exception_ptr failure_;
};

}  // namespace

void run(const run_options& options, const std::function<void(const context&, calling_thread&)>& work) {
    // A callable, or what makes one for a run: quern._progress chooses a progress bar.
    run_options used = options;
    const nb::object listener = nb::module_::import_("quern._progress").attr("listener")(options.progress);
    used.progress = listener;
    exchange between(used);
    std::thread worker([&] {
        std::exception_ptr failure;
        try {
            work(between.ctx(), between);
        } catch (...) {
            failure = std::current_exception();
        }
        between.finish(std::move(failure));
    });
    between.serve();
    {
        const nb::gil_scoped_release released;
        worker.join();
    }
    if (!listener.is_none()) listener.attr("close")();
    between.rethrow();
}

}  // namespace quern::python
