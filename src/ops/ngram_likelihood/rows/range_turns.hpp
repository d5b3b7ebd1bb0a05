// SPDX-License-Identifier: Apache-2.0
// Rows of ranges of first words that several places make, output in the order of the ranges for every n. A place whose
// rows of one n come too early waits, with what it has in transfer: while one outputs its rows of n words, the next
// outputs those of n - 1. So no row is kept.
#pragma once

#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <vector>

#include "device/first_failure.hpp"
#include "quern/ops/ngram_likelihood.hpp"

namespace quern::ngram_detail {

class range_turns {
  public:
    range_turns(std::size_t places, unsigned order, const std::function<void(const ngram_rows&)>& sink)
        : places_(places), order_(order), take_(sink), turn_(order + std::size_t{1}) {}

    std::size_t places() const { return places_; }

    /// The minimum of the values of all places, which all call it equally often. Waits for them.
    std::uint64_t min_of_all(std::uint64_t value) {
        std::unique_lock hold(mutex_);
        if (called_++ % places_ == 0) min_.push_back(value);
        const std::size_t round = min_.size() - 1;
        min_[round] = std::min(min_[round], value);
        changed_.notify_all();
        changed_.wait(hold, [&] { return failure_.any() || called_ >= (round + 1) * places_; });
        if (failure_.any()) throw stopped{};
        return min_[round];
    }

    /// Waits for all places.
    void meet() { min_of_all(0); }

    /// The next of so many ranges, the same number at every place; nothing: all have begun, or one has failed.
    std::optional<std::size_t> begin_next(std::size_t ranges) {
        const std::lock_guard hold(mutex_);
        complete_below_.resize(ranges, 0);
        if (failure_.any() || begun_ == ranges) return {};
        return begun_++;
    }
    /// Outputs rows of a range, when it is its turn. The n of a range ascend. After an exception of the sink it gets no more.
    void give(std::size_t range, const ngram_rows& rows) {
        {
            std::unique_lock hold(mutex_);
            complete_below(range, rows.n);
            changed_.wait(hold, [&] { return failure_.any() || turn_[rows.n] == range; });
            if (failure_.any()) throw stopped{};
        }
        const std::lock_guard one_at_a_time(output_);
        if (refused_) throw stopped{};
        refused_ = true;
        take_(rows);
        refused_ = false;
    }
    /// All rows of a range are output.
    void complete(std::size_t range) {
        const std::lock_guard hold(mutex_);
        complete_below(range, order_ + 1);
    }

    /// Calls work(), the part of one place. After an exception no further range begins and nobody waits.
    template <class Work>
    void run(const Work& work) {
        try {
            work();
        } catch (const stopped&) {  // another place has failed
        } catch (...) {
            const std::lock_guard hold(mutex_);
            failure_.keep(0);
            changed_.notify_all();
        }
    }
    /// Throws what the first place that failed has thrown.
    void rethrow() const { failure_.rethrow(); }

  private:
    struct stopped {};

    /// The rows of a range with fewer than n words are output. Call it with the lock.
    void complete_below(std::size_t range, unsigned n) {
        if (complete_below_[range] == n) return;
        complete_below_[range] = n;
        for (unsigned shorter = 1; shorter < n; ++shorter) {
            std::size_t& turn = turn_[shorter];
            while (turn < complete_below_.size() && complete_below_[turn] > shorter) ++turn;
        }
        changed_.notify_all();
    }

    const std::size_t places_;
    const unsigned order_;
    const std::function<void(const ngram_rows&)>& take_;
    std::mutex mutex_, output_;
    bool refused_ = false;  ///< whether the sink is being called or has thrown; with the lock of the output
    std::condition_variable changed_;
    std::size_t called_ = 0, begun_ = 0;
    std::vector<std::uint64_t> min_;        ///< of each round of min_of_all()
    std::vector<unsigned> complete_below_;  ///< of each range
    std::vector<std::size_t> turn_;         ///< [n]: the range that outputs rows of n words
    first_failure failure_;                 ///< the earliest
};

}  // namespace quern::ngram_detail
