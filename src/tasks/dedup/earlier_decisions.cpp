// SPDX-License-Identifier: Apache-2.0
#include "tasks/dedup/earlier_decisions.hpp"

#include <utility>

#include "quern/ops/near_kept.hpp"

namespace quern {

std::vector<duplicate_pair> pairs_to_decide(std::vector<duplicate_pair> stored,
                                            const text_sketches& sketches) {
    std::uint32_t text = 0;
    for (const auto& chunk : sketches.chunks) {
        for (const text_sketch& sketch : chunk) {
            if (sketch.first_equal < text)
                stored.push_back({sketch.first_equal, text, 0, std::uint64_t{2} * sketch.length});
            ++text;
        }
    }
    return stored;
}

void complete_decisions(std::span<const duplicate_pair> pairs, const std::vector<bool>& is_new,
                        std::vector<document_decision>& decisions, const context& ctx) {
    std::vector<std::uint32_t> order, undecided;
    for (std::uint32_t d = 0; d < decisions.size(); ++d) {
        if (is_new[d]) continue;
        if (decisions[d] == document_decision::stays) order.push_back(d);
        if (decisions[d] == document_decision::none) undecided.push_back(d);
    }
    if (undecided.empty()) return;
    const std::size_t staying = order.size();
    order.insert(order.end(), undecided.begin(), undecided.end());
    for (const std::uint32_t d : undecided) decisions[d] = document_decision::stays;
    for (const removed_duplicate& r : near_kept(pairs, decisions.size(), {order, staying}, ctx))
        decisions[r.document] = document_decision::removed;
}

}  // namespace quern
