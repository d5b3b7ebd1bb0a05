// SPDX-License-Identifier: Apache-2.0
#include "ops/near_duplicates/links/link_search.hpp"

namespace quern::near_duplicates_detail {

std::vector<duplicate_pair> link_search::found(cpu_place& place, const sketch_list& sketches,
                                               const duplicate_scope& scope, std::vector<text_copy> copies,
                                               duplicate_counts& counts) const {
    counts.candidates += measured.load();
    counts.verified += measured.load();
    duplicate_counts of_links;  // they depend on the order of the threads
    const auto connected = pairs_of_texts(place, sketches, scope, std::move(copies), links.links(), of_links);
    // The connected groups do not. All links lead to the first text, so that nothing else is visible.
    text_links groups(place, sketches.size());
    for (const duplicate_pair& link : connected) groups.connect(link.a, link.b);
    std::vector<duplicate_pair> all;
    all.reserve(connected.size());
    for (std::uint32_t text = 0; text < sketches.size(); ++text) {
        const std::uint32_t first = groups.first_of(text);
        if (first != text) all.push_back({first, text, 0, 0});
    }
    std::ranges::sort(all, {}, [](const duplicate_pair& p) { return std::pair(p.a, p.b); });
    return all;
}

}  // namespace quern::near_duplicates_detail
