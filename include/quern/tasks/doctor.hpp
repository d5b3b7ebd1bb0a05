// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "quern/base/context.hpp"

namespace quern {

/// One finding: what was looked at, what was found, and what it means to the user.
struct finding {
    std::string subject, value, note;
};

/// CPU features, cores, memory limit, scratch space, driver, GPUs, why a back end is or is not there, versions
/// of Unicode data and store format, contract class of each operation. Never throws for what it looks at.
std::vector<finding> doctor(const context& run);

}  // namespace quern
