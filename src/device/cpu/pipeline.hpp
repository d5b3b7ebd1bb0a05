// SPDX-License-Identifier: Apache-2.0
// A pipeline of steps, some run in order and one piece at a time, others by all threads at once, over a fixed number of
// reused places: memory is bounded, and an interrupted run loses nothing.
//
// Threads take the oldest piece first and leave when there is nothing to do. None waits within a step, so that nested
// work finds free threads and a single thread suffices. oneTBB's own pipeline cannot hold back a piece that would need
// more memory than its place has.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "device/cpu/threads.hpp"

namespace quern {

/// Which piece passes which step when, whatever a piece is: it is in one of `slots` places.
class pipeline_order {
  public:
    explicit pipeline_order(std::size_t slots, std::function<void(std::size_t slot)> clear);
    ~pipeline_order();
    pipeline_order(const pipeline_order&) = delete;
    pipeline_order& operator=(const pipeline_order&) = delete;

    void from(std::function<bool(std::size_t slot)> fill);
    void step(std::function<bool(std::size_t slot, bool alone)> take, bool in_order);
    void alone_when(std::function<bool(std::size_t slot)> is_large);
    void run();

  private:
    class state;
    std::unique_ptr<state> state_;
};

/// `Work` is default-constructible and assignable. The first exception of a step ends the run and is rethrown.
template <class Work>
class pipeline {
  public:
    /// At most `slots` pieces of work are in progress.
    explicit pipeline(std::size_t slots)
        : works_(slots), order_(slots, [this](std::size_t slot) { works_[slot] = Work(); }) {}

    /// The first step: fill(Work&) fills a fresh piece of work; returns false at the end. In order.
    template <class Fill>
    void from(Fill fill) {
        order_.from([this, fill = std::move(fill)](std::size_t slot) mutable { return fill(works_[slot]); });
    }
    /// take(Work&), of any piece by any thread.
    template <class Take>
    void in_parallel(Take take) {
        add(std::move(take), false);
    }
    /// One piece at a time, in the order of the first step.
    template <class Take>
    void in_order(Take take) {
        add(std::move(take), true);
    }
    /// As in_parallel(), for work that may turn out too large to run next to others: `take(work, alone)` then returns
    /// false. It is called again, with `alone`, when all earlier pieces are done, and no piece begins until this one is
    /// done. So there is one large piece at a time, next to small ones.
    template <class Take>
    void in_parallel_or_alone(Take take) {
        order_.step([this, take = std::move(take)](std::size_t slot,
                                                   bool alone) mutable { return take(works_[slot], alone); },
                    false);
    }
    /// A piece that satisfies is_large(const Work&) when filled is treated as if its first step had returned false.
    template <class IsLarge>
    void alone_when(IsLarge is_large) {
        order_.alone_when(
            [this, is_large = std::move(is_large)](std::size_t slot) { return is_large(works_[slot]); });
    }

    /// Runs until the first step has nothing left and every piece has passed the last. Call it once.
    void run() { order_.run(); }

  private:
    template <class Take>
    void add(Take take, bool in_order) {
        order_.step([this, take = std::move(take)](std::size_t slot,
                                                   bool) mutable { return take(works_[slot]), true; },
                    in_order);
    }

    std::vector<Work> works_;
    pipeline_order order_;
};

/// Calls `work(i)` for every i below `count` on the context's threads. For work of milliseconds: indices are handed out
/// one by one. The first exception ends it and is rethrown.
void for_each_index(const context& ctx, std::uint64_t count, function_ref<void(std::uint64_t)> work);

}  // namespace quern
