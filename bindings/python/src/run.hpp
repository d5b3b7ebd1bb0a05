// SPDX-License-Identifier: Apache-2.0
// A run of the library on behalf of a Python call: its resources, its progress and messages, and Ctrl-C.
#pragma once

#include <nanobind/nanobind.h>

#include <atomic>
#include <functional>
#include <optional>
#include <utility>

#include "quern/base/context.hpp"

namespace quern::python {

/// The keyword arguments that every function has: threads, memory, device … (parameters.hpp declares them).
struct run_options {
    context ctx;  ///< resources, without listeners
    nanobind::object progress = nanobind::none();
    std::atomic<int>* stop =
        nullptr;  ///< the flag that stops the run, if its work reads one of its own; else null
};

/// The thread of the Python call, which waits for the run.
class calling_thread {
  public:
    virtual ~calling_thread() = default;
    /// Calls `work` on the calling thread, with the interpreter's lock, and waits for it; what it throws is thrown
    /// here. For code of the user, such as a generator, which may be bound to its thread. Throws `interrupted` if the run is
    /// to stop. Not from the calling thread itself.
    virtual void call(const std::function<void()>& work) = 0;
};

/// Calls `work` on another thread without the interpreter's lock. Meanwhile the calling thread shows progress, passes
/// messages to `logging`, handles signals and runs Python code for the run. After Ctrl-C, or any other exception of a
/// signal handler or a listener, the run stops soon, and that exception is thrown. Cost: 0.1 ms, so single look-ups call the
/// library directly.
void run(const run_options& options, const std::function<void(const context&, calling_thread&)>& work);

/// The same for work that has a result and needs no Python code.
template <class Work>
auto run_for(const run_options& options, Work work) {
    std::optional<decltype(work(options.ctx))> result;
    run(options, [&](const context& ctx, calling_thread&) { result.emplace(work(ctx)); });
    return std::move(*result);
}

/// The same with the defaults of the resources, and without progress: for a question to what is open.
template <class Work>
auto run_quietly(Work work) {
    run_options quiet;
    quiet.progress = nanobind::bool_(false);
    return run_for(quiet, std::move(work));
}

}  // namespace quern::python
