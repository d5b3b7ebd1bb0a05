// SPDX-License-Identifier: Apache-2.0
// Ends the program with an error where memory runs out and no exception can say so.
#pragma once

namespace quern::cli {

/// Before any thread starts and before the first use of ICU.
void watch_for_refused_memory();

/// Whether operator new has failed in this thread. The standard library ends the program if that happens within what it declares
/// noexcept, such as functions of std::filesystem with an error code; the exception is then out of reach.
bool memory_was_refused() noexcept;

/// Exits with code 4 and a message, without an allocation.
[[noreturn]] void end_without_memory() noexcept;

}  // namespace quern::cli
