// SPDX-License-Identifier: Apache-2.0
// The best objects of several ranked lists in files.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "quern/base/context.hpp"
#include "quern/ops/rank_aggregation.hpp"
#include "quern/tasks/statistics.hpp"

namespace quern {

struct file_aggregation_request {
    /// Files with lines of `id TAB score`, by descending score; plain or compressed.
    std::vector<std::filesystem::path> lists;
    std::vector<double> weights;  ///< one per list, or empty: 1 each
    std::vector<double> floors;   ///< one per list, one for all, or empty: 0 each
    aggregation_options options;
};

struct top_object {
    std::string id;
    double score = 0;
};

struct file_aggregation_result {
    std::vector<top_object> best;                ///< by descending score; equal scores by id
    std::vector<std::uint64_t> depths, lengths;  ///< of each list: entries read, and all
    std::uint64_t objects = 0;                   ///< distinct ids over all lists
    std::string place;
    run_statistics statistics;
};

/// Throws usage_error; invalid_input, with list and line, for a malformed line, a score that is not finite,
/// ascends or is below the floor, and a repeated id; io_error, out_of_memory, device_error, interrupted.
file_aggregation_result top_k_of_files(const file_aggregation_request& request, const context& ctx);

}  // namespace quern
