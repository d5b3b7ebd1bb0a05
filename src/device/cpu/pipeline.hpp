// SPDX-License-Identifier: Apache-2.0
// A pipeline of steps, some run in order and one piece at a time, others by all threads at once, over a fixed number of
// reused places: memory is bounded, and an interrupted run loses nothing.
//
// Threads take the oldest piece first and leave when there is nothing to do. None waits within a step, so that nested
// work finds free threads and a single thread suffices. oneTBB's own pipeline cannot hold back a piece that would need
// more memory than its place has.
#pragma once

#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_group.h>

#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "device/cpu/threads.hpp"

namespace quern {

/// `Work` is default-constructible and assignable. The first exception of a step ends the run and is rethrown.
template <class Work>
class pipeline {
  public:
    /// At most `slots` pieces of work are in progress.
    explicit pipeline(std::size_t slots) : slots_(slots) {}

    /// The first step: fills a fresh piece of work; returns false at the end. In order.
    void from(std::function<bool(Work&)> fill) { fill_ = std::move(fill); }
    void in_parallel(std::function<void(Work&)> take) {
        steps_.push_back({[take = std::move(take)](Work& work, bool) { return take(work), true; }, false});
    }
    /// One piece at a time, in the order of the first step.
    void in_order(std::function<void(Work&)> take) {
        in_parallel(std::move(take));
        steps_.back().in_order = true;
    }
    /// As in_parallel(), for work that may turn out too large to run next to others: `take(work, alone)` then returns
    /// false. It is called again, with `alone`, when all earlier pieces are done, and no piece begins until this one is
    /// done. So there is one large piece at a time, next to small ones.
    void in_parallel_or_alone(std::function<bool(Work&, bool alone)> take) {
        steps_.push_back({std::move(take), false});
    }
    /// A piece that satisfies this when filled is treated as if its first step had returned false.
    void alone_when(std::function<bool(const Work&)> is_large) { is_large_ = std::move(is_large); }

    /// Runs until the first step has nothing left and every piece has passed the last. Call it once.
    void run() {
        const happens_before whole;
        max_workers_ = static_cast<std::size_t>(tbb::this_task_arena::max_concurrency());
        tbb::task_group group;
        workers_ = 1;
        work(group);
        group.wait();
        if (failure_) std::rethrow_exception(failure_);
    }

  private:
    struct step {
        std::function<bool(Work&, bool)> take;
        bool in_order = false;
        std::uint64_t next = 0;  ///< of a step in order: the piece whose turn it is
    };
    struct slot {
        Work work{};
        std::size_t step = 0;  ///< the next one
        bool busy = false;
        bool alone = false;
    };
    static constexpr std::uint64_t fresh = UINT64_MAX;  ///< instead of a number: to be filled

    /// Copied, called and destroyed by oneTBB.
    struct worker {
        pipeline* owner = nullptr;
        tbb::task_group* group = nullptr;
        happens_before copied{};
        void operator()() const {
            const happens_before::share mine;
            owner->work(*group);
        }
    };

    /// Runs jobs while there are any, and requests one more thread if there are more.
    void work(tbb::task_group& group) {
        std::unique_lock lock(mutex_);
        while (const auto job = next_job()) {
            begin(*job);
            if (workers_ < max_workers_ && next_job()) {
                ++workers_;
                group.run(worker{this, &group});
            }
            lock.unlock();
            bool done = false;
            std::exception_ptr failure;
            try {
                done = perform(*job);
            } catch (...) {
                failure = std::current_exception();
            }
            lock.lock();
            if (failure && !failure_) failure_ = failure;
            if (!failure) end(*job, done);
        }
        --workers_;
    }

    slot& at(std::uint64_t number) { return slots_[number % slots_.size()]; }

    /// The oldest piece that can proceed, or a fresh one. Nothing after a failure.
    std::optional<std::uint64_t> next_job() {
        if (failure_) return std::nullopt;
        bool alone = false;
        for (std::uint64_t number = first_; number != filled_; ++number) {
            const slot& p = at(number);
            alone = alone || p.alone;
            if (p.busy || p.step == steps_.size() || (p.alone && number != first_)) continue;
            if (!steps_[p.step].in_order || steps_[p.step].next == number) return number;
        }
        const bool capacity = filled_ - first_ < slots_.size();
        if (capacity && !alone && !filling_ && !ended_) return fresh;
        return std::nullopt;
    }

    void begin(std::uint64_t job) {
        if (job == fresh) {
            filling_ = true;
        } else {
            at(job).busy = true;
        }
    }

    bool perform(std::uint64_t job) {
        if (job == fresh) return fill_(at(filled_).work);  // no other thread fills or looks there
        slot& p = at(job);
        const bool done = steps_[p.step].take(p.work, p.alone);
        if (done && p.step + 1 == steps_.size()) p.work = Work();
        return done;
    }

    void end(std::uint64_t job, bool done) {
        if (job == fresh) {
            filling_ = false;
            ended_ = !done;
            slot& p = at(filled_);
            if (done) {
                p.alone = is_large_ && is_large_(p.work);
                ++filled_;
            } else {
                p.work = Work();
            }
            return;
        }
        slot& p = at(job);
        p.busy = false;
        if (!done) {
            p.alone = true;
            return;
        }
        if (steps_[p.step].in_order) ++steps_[p.step].next;
        ++p.step;
        for (; first_ != filled_ && at(first_).step == steps_.size(); ++first_) {
            at(first_).step = 0;
            at(first_).alone = false;
        }
    }

    std::function<bool(Work&)> fill_;
    std::function<bool(const Work&)> is_large_;
    std::size_t max_workers_ = 1;

    std::mutex mutex_;          ///< guards everything below except the work of busy places
    std::vector<slot> slots_;   ///< piece n is at n % size
    std::vector<step> steps_;   ///< at least one
    std::uint64_t first_ = 0;   ///< the oldest piece in progress
    std::uint64_t filled_ = 0;  ///< pieces filled so far
    std::size_t workers_ = 0;   ///< threads working here, or requested
    bool filling_ = false, ended_ = false;
    std::exception_ptr failure_;  ///< the first
};

/// Calls `work(i)` for every i below `count` on the context's threads. For work of milliseconds: indices are handed out
/// one by one. The first exception ends it and is rethrown.
template <class Work>
void for_each_index(const context& ctx, std::uint64_t count, const Work& work) {
    std::uint64_t given_out = 0;
    pipeline<std::uint64_t> line(2 * std::size_t{ctx.thread_count()});
    line.from([&](std::uint64_t& index) {
        index = given_out++;
        return index < count;
    });
    line.in_parallel([&](const std::uint64_t& index) { work(index); });
    run_parallel(ctx, [&] { line.run(); });
}

}  // namespace quern
