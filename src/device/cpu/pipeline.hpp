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
        auto chain = tbb::make_filter<void, place*>(tbb::filter_mode::serial_in_order,
                                                    [this](tbb::flow_control& control) {
                                                        place* const next = fill_next();
                                                        if (next == nullptr) control.stop();
                                                        return next;
                                                    });
        for (step& s : steps_) {
            const auto mode = s.in_order ? tbb::filter_mode::serial_in_order : tbb::filter_mode::parallel;
            chain = chain & tbb::make_filter<place*, place*>(mode, [this, &s](place* at) {
                        take_step(s, *at);
                        return at;
                    });
        }
        // The last filter frees the place, in order: when the first step comes round to it, it is free.
        tbb::parallel_pipeline(places_.size(), chain & tbb::make_filter<place*, void>(
                                                           tbb::filter_mode::serial_in_order, [](place* at) {
                                                               const std::lock_guard hold(at->mutex);
                                                               at->work = Work();
                                                           }));
    }

  private:
    // The locks are never contended; they say to the compiler and to race detectors, which do not see into
    // oneTBB, that work is handed from thread to thread, and that a step in order is taken by one at a time.
    struct place {
        std::mutex mutex;
        Work work;
    };
    struct step {
        std::function<void(Work&)> take;
        std::unique_ptr<std::mutex> in_order;
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

}  // namespace quern
