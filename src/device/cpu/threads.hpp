// SPDX-License-Identifier: Apache-2.0
// The CPU place: all parallel code runs inside an arena sized for the context.
#pragma once

#include <atomic>
#include <optional>
#include <type_traits>
#include <utility>

#include "base/function_ref.hpp"
#include "quern/base/context.hpp"

namespace quern {

/// Calls `work` so that its parallel algorithms use at most `ctx.thread_count()` threads, which may exceed the number
/// of cores.
void run_in_arena(const context& ctx, function_ref<void()> work);

/// run_in_arena(), with the result of `work`.
template <class Work>
auto run_parallel(const context& ctx, Work&& work) {
    using result = std::invoke_result_t<Work&>;
    if constexpr (std::is_void_v<result>) {
        run_in_arena(ctx, work);
    } else {
        std::optional<result> made;
        run_in_arena(ctx, [&] { made.emplace(work()); });
        return *std::move(made);
    }
}

// Marks where work passes between a caller and oneTBB's threads. oneTBB's own synchronisation is inside a library that
// race detectors cannot see; these four points repeat it in a form that they see. The order is established between
// caller and threads, but not between one thread and another: a race between two of them stays visible. The cost is one
// atomic each, for pieces of work of milliseconds.

/// Held by the caller around a parallel algorithm: orders the caller's earlier work before the threads', and the
/// threads' work before what the caller does afterwards.
class happens_before {
  public:
    happens_before() { begun_.fetch_add(1, std::memory_order_release); }
    // Function objects that oneTBB copies and destroys hold one: it orders the threads' work before the release of
    // their memory.
    happens_before(const happens_before& /*unused*/) : happens_before() {}
    happens_before& operator=(const happens_before&) = delete;
    ~happens_before() { (void)ended_.load(std::memory_order_acquire); }

    /// Held by a thread around its piece of the work.
    class share {
      public:
        share() { (void)begun_.load(std::memory_order_acquire); }
        share(const share&) = delete;
        share& operator=(const share&) = delete;
        ~share() { ended_.fetch_add(1, std::memory_order_release); }
    };

  private:
    static inline std::atomic<unsigned> begun_{0};
    static inline std::atomic<unsigned> ended_{0};
};

}  // namespace quern
