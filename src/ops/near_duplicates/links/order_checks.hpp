// SPDX-License-Identifier: Apache-2.0
// What near_kept() requires of its order.
#pragma once

#include <algorithm>
#include <vector>

#include "quern/base/error.hpp"
#include "quern/ops/near_kept.hpp"

namespace quern::near_duplicates_detail {

/// Throws usage_error.
inline void check_order(const kept_order& order, std::size_t documents) {
    if (order.staying > order.documents.size())
        throw usage_error("near_kept: more documents stay than are listed");
    if (!std::ranges::is_sorted(order.documents.first(order.staying)))
        throw usage_error("near_kept: the documents that stay descend");
    std::vector<bool> is_listed(documents);
    for (const std::uint32_t document : order.documents) {
        if (document >= documents || is_listed[document])
            throw usage_error("near_kept: a document of the order is out of range or listed twice");
        is_listed[document] = true;
    }
}

}  // namespace quern::near_duplicates_detail
