// SPDX-License-Identifier: Apache-2.0
// PageRank works in integers of 2^-62 and tells doubles, each the nearest to its integer: what is stored is that double in
// the same units, a whole number again, so that the section and the command say one thing.
#include <cstdint>

#include "io/store/section.hpp"
#include "quern/ops/link_rank.hpp"
#include "tasks/build/stages.hpp"
#include "tasks/links/linked_nodes.hpp"
#include "tasks/memory_left.hpp"
#include "tasks/store/layout.hpp"

namespace quern {

stage_outcome make_link_ranks(const opened_store& store, const context& run) {
    stage_outcome outcome;
    if (store.info().links == 0) {
        outcome.nothing = "there are no links";
        return outcome;
    }
    run_statistics unused;
    const linked_nodes nodes = read_linked_nodes(store.path(), "", false, run, unused);
    const link_ranks found =
        page_rank(nodes.graph.view(), {}, with_memory_left(run, nodes.bytes_held, "the links of a store"));

    io::section_writer section(store_layout::file_of(store.path(), store_layout::link_ranks));
    for (const double rank : found.ranks) {
        section.append_value(static_cast<std::uint64_t>(rank * store_layout::link_rank_units));
    }
    const auto done = section.finish();
    outcome.sections = {{std::string(store_layout::link_ranks), done.file_bytes, done.checksum}};
    outcome.counts = {{"link_rank_iterations", found.iterations}};
    return outcome;
}

}  // namespace quern
