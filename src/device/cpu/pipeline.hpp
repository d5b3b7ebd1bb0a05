// SPDX-License-Identifier: Apache-2.0
// Work that flows through steps, some of them one at a time and in order, others by all threads at once: oneTBB's
// pipeline over a fixed number of places that are used again and again, so that memory is bounded and a run that
// is stopped in the middle loses nothing.
#pragma once

#include <oneapi/tbb/parallel_pipeline.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "device/cpu/hand_over.hpp"
#include "device/cpu/threads.hpp"

namespace quern {

/// `Work` is default-constructible and assignable. The first exception of a step ends the run and is rethrown.
template <class Work>
class pipeline {
  public:
    /// At most `places` pieces of work are under way.
    explicit pipeline(std::size_t places) : places_(places) {}

    /// The first step: fills a fresh piece of work; false where there is none left. In order.
    void from(std::function<bool(Work&)> fill) { fill_ = std::move(fill); }
    void in_parallel(std::function<void(Work&)> take) { steps_.push_back({std::move(take), nullptr}); }
    /// One piece at a time, in the order of the first step.
    void in_order(std::function<void(Work&)> take) {
        steps_.push_back({std::move(take), std::make_unique<std::mutex>()});
    }

    /// Runs until the first step has nothing left and every piece has passed the last.
    void run() {
        const handed_over whole;
        auto chain = tbb::make_filter<void, place*>(tbb::filter_mode::serial_in_order, first_filter{this});
        for (const step& s : steps_) {
            const auto mode = s.in_order ? tbb::filter_mode::serial_in_order : tbb::filter_mode::parallel;
            chain = chain & tbb::make_filter<place*, place*>(mode, step_filter{&s});
        }
        // The last filter frees the place, in order: when the first step comes round to it, it is free.
        tbb::parallel_pipeline(places_.size(), chain & tbb::make_filter<place*, void>(
                                                           tbb::filter_mode::serial_in_order, [](place* at) {
                                                               const handed_over::share mine;
                                                               const std::lock_guard hold(at->mutex);
                                                               at->work = Work();
                                                           }));
    }

  private:
    // The locks are never contended; they say to race detectors, which do not see into oneTBB, that work is
    // handed from thread to thread, and that a step in order is taken by one at a time.
    struct place {
        std::mutex mutex;
        Work work{};
    };
    struct step {
        std::function<void(Work&)> take;
        std::unique_ptr<std::mutex> in_order;
    };

    // What oneTBB copies, calls and destroys: made known when it is complete, so its last member does that.
    struct first_filter {
        pipeline* owner;
        handed_over copied{};
        place* operator()(tbb::flow_control& control) const {
            const handed_over::share mine;
            place* const next = owner->fill_next();
            if (next == nullptr) control.stop();
            return next;
        }
    };
    struct step_filter {
        const step* which;
        handed_over copied{};
        place* operator()(place* at) const {
            const handed_over::share mine;
            take_step(*which, *at);
            return at;
        }
    };

    place* fill_next() {
        const std::lock_guard one_at_a_time(fill_mutex_);
        place& next = places_[filled_++ % places_.size()];
        const std::lock_guard hold(next.mutex);
        return fill_(next.work) ? &next : nullptr;
    }

    static void take_step(const step& s, place& at) {
        std::unique_lock<std::mutex> one_at_a_time;
        if (s.in_order) one_at_a_time = std::unique_lock(*s.in_order);
        const std::lock_guard hold(at.mutex);
        s.take(at.work);
    }

    std::vector<place> places_;
    std::function<bool(Work&)> fill_;
    std::mutex fill_mutex_;
    std::uint64_t filled_ = 0;
    std::vector<step> steps_;
};

/// Calls `work(i)` for every i below `count` on the threads of `run`. For work of milliseconds: the numbers are
/// given out one by one. The first exception ends it and is rethrown.
template <class Work>
void for_each_index(const context& run, std::uint64_t count, const Work& work) {
    std::uint64_t given_out = 0;
    pipeline<std::uint64_t> line(2 * std::size_t{run.thread_count()});
    line.from([&](std::uint64_t& index) {
        index = given_out++;
        return index < count;
    });
    line.in_parallel([&](const std::uint64_t& index) { work(index); });
    run_parallel(run, [&] { line.run(); });
}

}  // namespace quern
