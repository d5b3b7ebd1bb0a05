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

/// The judgements of a file, to evaluate a run in memory with quern::evaluate. Throws as evaluate_files does.
relevance_judgements read_judgements(const std::filesystem::path& path, const context& ctx);

}  // namespace quern
