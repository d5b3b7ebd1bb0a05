// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

#include "quern/base/context.hpp"
#include "quern/ops/evaluate.hpp"

namespace quern {

/// Reads judgements (`topic 0 document grade`) and a run (`topic Q0 document rank score tag`), any compression,
/// and evaluates. Throws invalid_input with file and line, usage_error if a file is missing.
evaluation evaluate_files(const std::filesystem::path& judgements, const std::filesystem::path& run_file,
                          const context& ctx);

}  // namespace quern
