// SPDX-License-Identifier: Apache-2.0
// The links of a store, in the order of their documents.
#pragma once

#include "quern/ops/link_rank.hpp"
#include "tasks/store/opened_store.hpp"

namespace quern {

/// Calls sink(link) for each. Throws damaged_store, and errors of `sink`.
template <class Sink>
void for_each_link(const opened_store& store, const Sink& sink) {
    const auto [ends_section, links_section] = store.links();
    const auto ends = ends_section.template values<std::uint64_t>(0, store.info().documents);
    const auto targets = links_section.template values<std::uint32_t>(0, store.info().links);
    std::uint64_t next = 0;  // the links of document d follow those of d − 1
    for (std::uint32_t from = 0; from < ends.size(); ++from) {
        if (ends[from] < next || ends[from] > targets.size()) ends_section.fail("is out of order");
        for (; next < ends[from]; ++next) {
            if (targets[next] >= ends.size()) links_section.fail("names a missing document");
            sink(link{from, targets[next]});
        }
    }
    if (next != targets.size()) ends_section.fail("is too short");
}

}  // namespace quern
