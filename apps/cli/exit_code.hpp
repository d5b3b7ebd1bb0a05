// SPDX-License-Identifier: Apache-2.0
// The one place where a failure becomes an exit code.
#pragma once

#include <exception>
#include <string>
#include <vector>

namespace quern::cli {

struct ending {
    int code;
    std::string message;                     ///< one sentence for standard error; empty: end quietly
    std::vector<std::string> warnings = {};  ///< to be said before
};

/// What the program does about an exception.
ending ending_for(const std::exception_ptr& failure);

}  // namespace quern::cli
