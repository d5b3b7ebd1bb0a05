// SPDX-License-Identifier: Apache-2.0
// The rule near-kept the slow, obvious way: each document, in the order of preference, against all that stay.
#pragma once

#include <algorithm>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "quern/ops/near_kept.hpp"

namespace quern::reference {

/// The distance of a pair and what its rate is of; nothing if two documents are no pair.
using pair_numbers = std::optional<std::pair<std::uint64_t, std::uint64_t>>;

inline std::vector<removed_duplicate> near_kept(
    const kept_order& order, const std::function<pair_numbers(std::uint32_t, std::uint32_t)>& pair_of) {
    std::vector<removed_duplicate> removed;
    std::vector<std::size_t> stay;  // places in the order
    for (std::size_t i = 0; i < order.documents.size(); ++i) {
        const std::uint32_t document = order.documents[i];
        std::optional<removed_duplicate> found;
        for (const std::size_t at : stay) {
            const std::uint32_t kept = order.documents[at];
            if (i < order.staying || (at < order.staying && kept > document)) continue;
            const pair_numbers pair = pair_of(kept, document);
            if (!pair || (found && (found->distance == 0 || pair->first != 0))) continue;
            found = {document, kept, pair->first, pair->second};
        }
        found ? removed.push_back(*found) : stay.push_back(i);
    }
    std::ranges::sort(removed, {}, &removed_duplicate::document);
    return removed;
}

}  // namespace quern::reference
