// SPDX-License-Identifier: Apache-2.0
// Maps failures to exit codes; nothing else does.
#pragma once

#include <exception>
#include <string>
#include <vector>

namespace quern::cli {

struct ending {
    int code;
    std::string message;                     ///< one sentence for standard error; empty: end quietly
    std::vector<std::string> warnings = {};  ///< to be printed before it
    std::vector<std::string> below = {};     ///< lines that show its place
};

/// The exit code and messages for an exception.
ending ending_for(const std::exception_ptr& failure);

/// The failure itself; or, if a file was truncated while it was read, that error, which caused the failure.
std::exception_ptr cause_of(std::exception_ptr failure) noexcept;

/// For std::set_terminate: if the system refuses resources to a thread of a library, exits with the code and
/// message of that error. Our own faults abort.
[[noreturn]] void end_for_uncaught() noexcept;

}  // namespace quern::cli
