// SPDX-License-Identifier: Apache-2.0
// When the time of a file tells whether it has changed.
#pragma once

#include <chrono>

namespace quern::io {

/// Whether a change at `begin` or later gives a file another time than `time`. A time changes at each tick of the system, and
/// some file systems count seconds: a whole second may be one of theirs.
template <class Time>
bool is_settled_before(Time time, Time begin) {
    using namespace std::chrono_literals;
    const bool is_coarse = time.time_since_epoch() % 1s == Time::duration::zero();
    return time + (is_coarse ? 2000ms : 50ms) < begin;
}

}  // namespace quern::io
