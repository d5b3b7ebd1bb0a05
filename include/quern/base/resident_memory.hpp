// SPDX-License-Identifier: Apache-2.0
// Stores, inputs and scratch files are memory-mapped. Each page that was accessed counts as memory of the
// process until the system takes it back. Memory budgets do not include them.
#pragma once

#include <cstdint>

namespace quern {

/// From now on, returns pages of mapped files to the system whenever the process would otherwise exceed `bytes`
/// of resident memory (its own memory plus mapped pages). They stay in the page cache: nothing is lost or
/// written, and a page in the cache is quickly available again. Other memory of the process is limited by the
/// budgets of its runs, not by this. 0 (the default): returns nothing. Checked wherever a run checks its stop
/// flag. Process-wide; any thread may call it.
void keep_resident_memory_below(std::uint64_t bytes) noexcept;

}  // namespace quern
