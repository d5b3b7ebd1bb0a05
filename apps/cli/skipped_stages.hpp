// SPDX-License-Identifier: Apache-2.0
// --skip, of the commands that make a store.
#pragma once

#include <set>

#include "command_line.hpp"
#include "quern/tasks/build.hpp"

namespace quern::cli {

/// --skip STAGE,...
void declare_skip(command_line& line, std::set<build_stage>& skip);

}  // namespace quern::cli
