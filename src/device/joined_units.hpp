// SPDX-License-Identifier: Apache-2.0
// Units of work on several places whose results the calling thread uses in the order of the units, while the places make
// the next ones. For what a place keeps between its units, and for results that are not kept until all are there.
//
//     join_units<sums>(places, parts.size(),
//         [&](auto& place, cpu_place& host, std::size_t index) {    // once for each place, on its thread
//             return [&, matrix = array_from(place, values)](std::size_t unit) { return sums_of(place, …); };
//         },
//         [&](sums of_unit) { … });                                 // on the calling thread
#pragma once

#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <limits>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

#include "device/first_failure.hpp"
#include "device/own_threads.hpp"
#include "device/place_set.hpp"

namespace quern {

/// Results that several threads make and one thread takes in the order of their units. A unit begins only if fewer than
/// `ahead` units, from the next one to be taken on, are in work or wait. Thread-safe.
template <class Result>
class unit_results {
  public:
    unit_results(std::size_t units, std::size_t ahead)
        : units_(units), ahead_(std::max(ahead, std::size_t{1})) {}

    /// The next unit, once it may begin. Nothing: all have begun, one has failed, or taking has stopped.
    std::optional<std::size_t> begin_next() {
        std::unique_lock hold(mutex_);
        changed_.wait(hold, [&] { return no_more() || begun_ - taken_ < ahead_; });
        if (no_more()) return {};
        return begun_++;
    }
    void give(std::size_t unit, Result result) {
        const std::lock_guard hold(mutex_);
        ready_.emplace(unit, std::move(result));
        changed_.notify_all();
    }
    /// The exception being handled is that of this unit; of none: of what is done before or after units.
    void fail(std::optional<std::size_t> unit) {
        const std::lock_guard hold(mutex_);
        failure_.keep(unit.value_or(begun_));  // those that have begun come first
        changed_.notify_all();
    }
    /// No further unit begins.
    void stop() {
        const std::lock_guard hold(mutex_);
        stopped_ = true;
        changed_.notify_all();
    }
    /// The result of the next unit, when it is there; throws what that unit threw.
    Result take() {
        std::unique_lock hold(mutex_);
        changed_.wait(hold, [&] { return ready_.contains(taken_) || failure_.number() <= taken_; });
        auto found = ready_.extract(taken_);
        if (!found) failure_.rethrow();
        ++taken_;
        changed_.notify_all();
        return std::move(found.mapped());
    }
    /// When no thread makes any more: throws what has not been thrown by take().
    void rethrow() const { failure_.rethrow(); }

  private:
    bool no_more() const { return stopped_ || failure_.any() || begun_ == units_; }

    const std::size_t units_, ahead_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::size_t begun_ = 0, taken_ = 0;
    bool stopped_ = false;
    first_failure failure_;
    std::map<std::size_t, Result> ready_;
};

/// How many units may be in work or wait.
inline constexpr std::size_t any_number_ahead = std::numeric_limits<std::size_t>::max();

/// Calls begin(place, host, index) once for each place; what it returns is called with one unit after another, and returns
/// a Result. Units begin in order, each on the place that is free. use(Result) is called for every unit, in order. After an
/// exception no further unit begins; throws that of the first unit that failed, after the units before it were used, or
/// that of `use`.
template <class Result, class Begin, class Use>
void join_units(place_set& places, std::size_t units, const Begin& begin, const Use& use,
                std::size_t ahead = any_number_ahead) {
    unit_results<Result> results(units, ahead);
    alongside making;
    making.start([&] {
        try {
            places.on_each([&](auto& place, cpu_place& host, std::size_t index) {
                std::optional<std::size_t> unit;
                try {
                    auto make = begin(place, host, index);
                    while ((unit = results.begin_next())) results.give(*unit, make(*unit));
                } catch (...) {
                    results.fail(unit);
                }
            });
        } catch (...) {  // what a place threw at its end
            results.fail({});
        }
    });
    try {
        for (std::size_t unit = 0; unit < units; ++unit) use(results.take());
    } catch (...) {
        results.stop();
        making.wait();
        throw;
    }
    making.wait();
    results.rethrow();
}

}  // namespace quern
