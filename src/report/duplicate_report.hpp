// SPDX-License-Identifier: Apache-2.0
// Near-duplicates as one HTML page: parameters and result, the distribution of distances, and the largest groups, each
// with the differences between its kept document and another one side by side. Self-contained, without scripts.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "quern/ops/near_duplicates.hpp"
#include "quern/ops/near_kept.hpp"

namespace quern::report {

struct duplicate_summary {
    std::string method, params, rule, keep, device;
    double largest_rate = 0;  ///< maximum a pair can have: the histogram's end
    std::uint64_t documents = 0, earlier = 0, dropped = 0;
    /// Origin, as rows of name and value: inputs, what could not be read, the program.
    std::vector<std::pair<std::string, std::string>> origin;
};

struct duplicate_report {
    duplicate_summary summary;
    std::span<const duplicate_pair> pairs;
    std::span<const duplicate_group> groups;
    std::span<const removed_duplicate> removed;  ///< ascending; none if groups are connected documents
    std::function<std::string_view(std::uint32_t)> id, text;  ///< of a document
    std::size_t groups_shown = 20;
};

/// Cost: O(pairs), plus the differences of the groups shown.
void write_duplicate_report(const duplicate_report& page, const std::function<void(std::string_view)>& out);

}  // namespace quern::report
