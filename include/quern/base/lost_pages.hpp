// SPDX-License-Identifier: Apache-2.0
// Stores and other large files are memory-mapped. If such a file is truncated while in use, or its disk loses
// blocks, an access to the lost part raises SIGBUS, which ends the process. To survive that, a program passes
// the signal to put_zeros_for_lost_page() and calls check_mapped_files() before it outputs any result.
#pragma once

namespace quern {

/// For a SIGBUS handler (SA_SIGINFO; `address` is si_addr); the library installs none. If a file of Quern is
/// mapped at the address, replaces the page and the rest of that file by zeros, records it, and returns true:
/// the thread can continue. Async-signal-safe.
bool put_zeros_for_lost_page(void* address) noexcept;

/// Throws if data read from mapped files are unreliable: damaged_store if a section of an open store was
/// truncated or changed in place, or has lost pages since the process started; io_error for any other file.
/// Cost: one stat per file, at most a microsecond. Thread-safe.
void check_mapped_files();

}  // namespace quern
