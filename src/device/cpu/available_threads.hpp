// SPDX-License-Identifier: Apache-2.0
// How many threads the system grants this process.
#pragma once

namespace quern {

/// How many threads parallel algorithms can have if `wanted` are requested: fewer, down to 1, if the system creates no
/// more (a control group's pids.max, ulimit -u, ulimit -v). Determined at the first call that wants several, by
/// creating them: about 15 us each. Thread-safe.
unsigned available_threads(unsigned wanted);

}  // namespace quern
