// SPDX-License-Identifier: Apache-2.0
// Method `automatic` on several devices: the search is that of one (sketch_search.hpp).
#include <algorithm>
#include <string>

#include "ops/near_duplicates/filter/sketch_search.hpp"

namespace quern::near_duplicates_detail {

template <class Unit>
std::vector<duplicate_pair> find_by_sketches(const chosen_device& chosen, const text_list& list,
                                             const text_sketches& known, const duplicate_options& options,
                                             const duplicate_scope& scope, const join_sharing& sharing,
                                             const context& ctx, duplicate_counts& counts,
                                             std::string& where) {
    step_clock clock(counts);
    constexpr std::uint64_t enough = std::uint64_t{1} << 30;  // of sketches and texts in transfer, a place
    cpu_place host(pinned_to(chosen, ctx));
    const std::uint64_t bytes = std::min(host.memory().left() / 4, enough * (1 + chosen.more.size()));
    const budget_share transfers(host.memory(), bytes, "transfers to devices");
    context of_places = host.ctx();
    of_places.memory_bytes = std::max<std::uint64_t>(bytes, 1);
    place_set places(of_places, chosen);
    where = places.where();
    clock.end("places");
    early_copies<Unit, place_set> copies(places, list, scope, sharing);
    sketch_search<Unit> search(host, list, known, options, scope, counts);
    if (search.to_compare() >= sharing.least || places.size() == 1)
        return search.find_on(places, sharing, copies);
    chosen_device alone = chosen;
    alone.more.clear();
    if (alone.cuda) alone.name = "cuda:" + std::to_string(alone.ordinal);
    where = name_and_reason(alone);
    host.ctx().log(log_level::info, "so few pairs are compared on one device, " + alone.name);
    first_place first{places};
    return search.find_on(first, sharing, copies);
}

template std::vector<duplicate_pair> find_by_sketches<std::uint8_t>(
    const chosen_device&, const text_list&, const text_sketches&, const duplicate_options&,
    const duplicate_scope&, const join_sharing&, const context&, duplicate_counts&, std::string&);
template std::vector<duplicate_pair> find_by_sketches<std::uint32_t>(
    const chosen_device&, const text_list&, const text_sketches&, const duplicate_options&,
    const duplicate_scope&, const join_sharing&, const context&, duplicate_counts&, std::string&);

}  // namespace quern::near_duplicates_detail
