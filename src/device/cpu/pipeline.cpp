// SPDX-License-Identifier: Apache-2.0
#include "device/cpu/pipeline.hpp"

#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_group.h>

#include <exception>
#include <mutex>
#include <optional>

namespace quern {

class pipeline_order::state {
  public:
    state(std::size_t slots, std::function<void(std::size_t)> clear)
        : clear_(std::move(clear)), slots_(slots) {}

    void run() {
        const happens_before whole;
        max_workers_ = static_cast<std::size_t>(tbb::this_task_arena::max_concurrency());
        tbb::task_group group;
        workers_ = 1;
        work(group);
        group.wait();
        if (failure_) std::rethrow_exception(failure_);
    }

    struct step {
        std::function<bool(std::size_t, bool)> take;
        bool in_order = false;
        std::uint64_t next = 0;  ///< of a step in order: the piece whose turn it is
    };

    std::function<bool(std::size_t)> fill_;
    std::function<bool(std::size_t)> is_large_;
    std::vector<step> steps_;  ///< at least one

  private:
    struct slot {
        std::size_t step = 0;  ///< the next one
        bool busy = false;
        bool alone = false;
    };
    static constexpr std::uint64_t fresh = UINT64_MAX;  ///< instead of a number: to be filled

    /// Copied, called and destroyed by oneTBB.
    struct worker {
        state* owner = nullptr;
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

    std::size_t place_of(std::uint64_t number) const { return number % slots_.size(); }
    slot& at(std::uint64_t number) { return slots_[place_of(number)]; }

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
        if (job == fresh) return fill_(place_of(filled_));  // no other thread fills or looks there
        const slot& p = at(job);
        const bool done = steps_[p.step].take(place_of(job), p.alone);
        if (done && p.step + 1 == steps_.size()) clear_(place_of(job));
        return done;
    }

    void end(std::uint64_t job, bool done) {
        if (job == fresh) {
            filling_ = false;
            ended_ = !done;
            if (done) {
                at(filled_).alone = is_large_ && is_large_(place_of(filled_));
                ++filled_;
            } else {
                clear_(place_of(filled_));
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

    std::function<void(std::size_t)> clear_;
    std::size_t max_workers_ = 1;

    std::mutex mutex_;  ///< guards everything below, and the steps' turns, except the work of busy places
    std::vector<slot> slots_;   ///< piece n is at n % size
    std::uint64_t first_ = 0;   ///< the oldest piece in progress
    std::uint64_t filled_ = 0;  ///< pieces filled so far
    std::size_t workers_ = 0;   ///< threads working here, or requested
    bool filling_ = false, ended_ = false;
    std::exception_ptr failure_;  ///< the first
};

pipeline_order::pipeline_order(std::size_t slots, std::function<void(std::size_t)> clear)
    : state_(std::make_unique<state>(slots, std::move(clear))) {}
pipeline_order::~pipeline_order() = default;

void pipeline_order::from(std::function<bool(std::size_t)> fill) {
    state_->fill_ = std::move(fill);
}
void pipeline_order::step(std::function<bool(std::size_t, bool)> take, bool in_order) {
    state_->steps_.push_back({std::move(take), in_order});
}
void pipeline_order::alone_when(std::function<bool(std::size_t)> is_large) {
    state_->is_large_ = std::move(is_large);
}
void pipeline_order::run() {
    state_->run();
}

void for_each_index(const context& ctx, std::uint64_t count, function_ref<void(std::uint64_t)> work) {
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
