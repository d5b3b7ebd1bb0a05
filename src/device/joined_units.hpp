// SPDX-License-Identifier: Apache-2.0
// Units of work on several places whose results the calling thread uses in the order of the units, while the places make
// the next ones. For what a place keeps between its units, and for results that are not kept until all are there.
//
//     join_units<sums>(places, parts.size(),
//         [&](auto& place, cpu_place& host) {                       // once for each place, on a thread of its own
//             return [&, matrix = array_from(place, values)](std::size_t unit) { return sums_of(place, …); };
//         },
//         [&](sums of_unit) { … });                                 // on the calling thread
#pragma once

#include <condition_variable>
#include <cstddef>
#include <exception>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "device/own_threads.hpp"
#include "device/place_set.hpp"

namespace quern {

/// What the threads of join_units() share.
template <class Result>
class unit_results {
  public:
    explicit unit_results(std::size_t units) : results_(units) {}

    /// The next unit, or nothing: all have begun, or one has failed.
    std::optional<std::size_t> begin_next() {
        const std::lock_guard hold(mutex_);
        if (stopped_ || begun_ == results_.size()) return {};
        return begun_++;
    }
    void give(std::size_t unit, Result result) {
        const std::lock_guard hold(mutex_);
        results_[unit] = std::move(result);
        changed_.notify_all();
    }
    /// Keeps the exception being handled if it is that of the first unit so far.
    void fail(std::size_t unit) {
        const std::lock_guard hold(mutex_);
        stopped_ = true;
        if (thrown_ && failed_ <= unit) return;
        failed_ = unit;
        thrown_ = std::current_exception();
    }
    /// No further unit begins.
    void stop() {
        const std::lock_guard hold(mutex_);
        stopped_ = true;
    }
    /// No result follows.
    void end() {
        const std::lock_guard hold(mutex_);
        ended_ = true;
        changed_.notify_all();
    }
    /// The result of a unit, when it is there; nothing: it will not be.
    std::optional<Result> wait_for(std::size_t unit) {
        std::unique_lock hold(mutex_);
        changed_.wait(hold, [&] { return results_[unit].has_value() || ended_; });
        return std::exchange(results_[unit], std::nullopt);
    }
    void rethrow() const {
        if (thrown_) std::rethrow_exception(thrown_);
    }

  private:
    std::mutex mutex_;
    std::condition_variable changed_;
    std::vector<std::optional<Result>> results_;
    std::size_t begun_ = 0, failed_ = 0;
    bool stopped_ = false, ended_ = false;
    std::exception_ptr thrown_;
};

/// Calls begin(place, host) once for each place; what it returns is called with one unit after another, and returns a
/// Result. Units begin in order, each on the place that is free. use(Result) is called for every unit, in order. After an
/// exception no further unit begins; throws that of the first unit that failed, or of `use`.
template <class Result, class Begin, class Use>
void join_units(place_set& places, std::size_t units, const Begin& begin, const Use& use) {
    unit_results<Result> results(units);
    alongside making;
    making.start([&] {
        try {
            places.on_each([&](auto& place, cpu_place& host, std::size_t) {
                std::optional<std::size_t> unit = 0;  // that of a failure before any unit
                try {
                    auto make = begin(place, host);
                    while ((unit = results.begin_next())) results.give(*unit, make(*unit));
                } catch (...) {
                    results.fail(unit.value_or(units));
                }
            });
        } catch (...) {  // what a place threw at its end
            results.fail(units);
        }
        results.end();
    });
    try {
        for (std::size_t unit = 0; unit < units; ++unit) {
            std::optional<Result> result = results.wait_for(unit);
            if (!result) break;
            use(std::move(*result));
        }
    } catch (...) {
        results.stop();
        making.wait();
        throw;
    }
    making.wait();
    results.rethrow();
}

}  // namespace quern
