// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "quern/base/context.hpp"

namespace quern {

/// One finding: what was examined, what was found, and what it means for the user.
struct finding {
    std::string subject, value, note;
};

/// CPU features, cores, memory limit, scratch space, driver, GPUs, why a back end is available or not, versions
/// of Unicode data and store format, contract class of each operation. Never throws because of its findings.
std::vector<finding> doctor(const context& ctx);

}  // namespace quern
