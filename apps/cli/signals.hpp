// SPDX-License-Identifier: Apache-2.0
// Ctrl-C, SIGTERM and SIGHUP: the first one stops the run, which cleans up; the second one ends the program at once,
// unless it is the same within 200 ms: programs such as timeout send a signal to a process and to its group, and so twice.
// If a run does not react to the first within a second and a half (it waits for a pipe or a disk), a watchdog ends it, so
// that the limit of two seconds always holds. It leaves only temporary files, which the next run recognises and removes.
#pragma once

#include <atomic>

namespace quern::cli {

/// Installs the handlers. Call it once, before any other thread starts. SIGPIPE and SIGXFSZ are then ignored: a
/// closed pipe gives EPIPE, a file beyond the limit (ulimit -f) EFBIG. SIGBUS goes to
/// quern/base/lost_pages.hpp.
void catch_signals();

/// The number of the signal that has arrived, else 0.
const std::atomic<int>& stop_signal();

}  // namespace quern::cli
