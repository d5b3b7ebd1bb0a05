// SPDX-License-Identifier: Apache-2.0
// Ctrl-C, SIGTERM and SIGHUP: asked once, the run stops by itself and cleans up; asked twice, the program
// ends at once. A run that does not hear the first request within a second and a half (it waits for a pipe,
// or for a disk) is ended by a watchdog, so that the promise of two seconds holds whatever the library is
// doing; what it leaves behind are temporary files that the next run recognises and removes.
#pragma once

#include <atomic>

namespace quern::cli {

/// Installs the handlers, once, before any other thread is started. SIGPIPE and SIGXFSZ are ignored from then
/// on: a closed pipe shows as EPIPE, a file beyond the limit (ulimit -f) as EFBIG.
void catch_signals();

/// Non-zero once a signal has come: its number.
const std::atomic<int>& stop_signal();

}  // namespace quern::cli
