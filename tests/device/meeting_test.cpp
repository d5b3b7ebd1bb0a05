// SPDX-License-Identifier: Apache-2.0
// Threads in step: the last one acts before any goes on, and a thread that fails releases the others.
#include "device/meeting.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <stdexcept>
#include <system_error>
#include <thread>
#include <vector>

#include "device/own_threads.hpp"
#include "quern/base/error.hpp"

namespace quern::meeting_test {
namespace {

TEST(meeting, the_last_thread_acts_before_any_goes_on) {
    constexpr std::size_t threads = 3, rounds = 200;
    meeting all(threads);
    std::vector<std::size_t> parts(threads);
    std::size_t sum = 0;
    on_threads_of_their_own(threads, [&](std::size_t i) {
        for (std::size_t round = 1; round <= rounds; ++round) {
            parts[i] = round * (i + 1);
            all.meet([&] { sum = parts[0] + parts[1] + parts[2]; });
            EXPECT_EQ(sum, 6 * round);
            all.meet();
        }
    });
}

TEST(meeting, one_that_leaves_releases_the_others) {
    for (const bool in_last : {false, true}) {
        meeting all(3);
        std::vector<int> ends(3);
        on_threads_of_their_own(3, [&](std::size_t i) {
            try {
                all.meet();
                if (!in_last && i == 1) throw std::runtime_error("fails");
                all.meet([&] { throw std::runtime_error("fails"); });
                all.meet();
            } catch (const meeting::left&) {
                ends[i] = 1;
            } catch (const std::runtime_error&) {
                ends[i] = 2;
                all.leave();
            }
        });
        EXPECT_EQ(ends[0] + ends[1] + ends[2], 4);  // one reason, two released
        EXPECT_THROW(all.meet(), meeting::left);
    }
}

/// A thread; the third cannot be created.
class scarce_thread : public std::jthread {
  public:
    template <class Work>
    explicit scarce_thread(const Work& work) : std::jthread(work_of_next(work)) {}
    static inline int created = 0;

  private:
    template <class Work>
    static Work work_of_next(const Work& work) {
        if (++created == 3) throw std::system_error(EAGAIN, std::generic_category());
        return work;
    }
};

TEST(meeting, does_not_begin_if_a_thread_cannot_be_created) {
    meeting all(3);
    std::atomic<int> begun = 0;
    EXPECT_THROW(on_threads_of_their_own<scarce_thread>(3, [&](std::size_t) { ++begun, all.meet(); }), error);
    EXPECT_EQ(scarce_thread::created, 3);
    EXPECT_EQ(begun, 0);
}

}  // namespace
}  // namespace quern::meeting_test
