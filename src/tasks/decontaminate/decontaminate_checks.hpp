// SPDX-License-Identifier: Apache-2.0
// The checks before anything is read.
#pragma once

#include "quern/tasks/decontaminate.hpp"

namespace quern {

/// Throws usage_error, as decontaminate() does.
void check_request(const decontaminate_options& options);

}  // namespace quern
