// SPDX-License-Identifier: Apache-2.0
// The best objects over several ranked lists in files.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "quern/base/context.hpp"
#include "quern/ops/top_k.hpp"
#include "quern/tasks/statistics.hpp"

namespace quern {

struct top_k_request {
    std::vector<std::filesystem::path>
        lists;                    ///< lines of `id TAB score`, score falling; plain or compressed
    std::vector<double> weights;  ///< one a list, or empty: 1 each
    std::vector<double> floors;   ///< one a list, one for all, or empty: 0 each
    top_k_options options;
};

struct top_object {
    std::string id;
    double score = 0;
};

struct top_k_answer {
    std::vector<top_object> best;                ///< score falling; equal scores by id
    std::vector<std::uint64_t> depths, lengths;  ///< of each list: entries that were looked at, and all
    std::uint64_t objects = 0;                   ///< different ids over all lists
    std::string place;
    run_statistics statistics;
};

/// Throws usage_error; invalid_input, with list and line, for a line that is not as said, a score that is no finite number,
/// rises or is below the floor, an id twice; io_error, out_of_memory, device_error, interrupted.
top_k_answer top_k_of_files(const top_k_request& request, const context& run);

}  // namespace quern
