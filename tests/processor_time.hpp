// SPDX-License-Identifier: Apache-2.0
// How long work takes on a machine that has other work too.
#pragma once

#include <ctime>

namespace quern::testing {

/// The processor seconds that this process spends while `work` runs, on all its threads. Other processes make no
/// difference.
template <typename Work>
double processor_seconds(const Work& work) {
    const auto now = [] {
        timespec time{};
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
        return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
    };
    const double begin = now();
    work();
    return now() - begin;
}

}  // namespace quern::testing
