// SPDX-License-Identifier: Apache-2.0
// PageRank computes in integers of 2^-62 and returns doubles, each the nearest to its integer. The section stores that
// double in the same units, an integer again, so that section and command agree.
#include <cstdint>

#include "io/store/section.hpp"
#include "quern/ops/link_rank.hpp"
#include "tasks/links/input_graph.hpp"
#include "tasks/shared/remaining_memory.hpp"
#include "tasks/store/layout.hpp"
#include "tasks/store_build/stages.hpp"

namespace quern {

stage_outcome make_link_ranks(const opened_store& store, const context& ctx) {
    stage_outcome outcome;
    if (store.info().links == 0) {
        outcome.nothing = "there are no links";
        return outcome;
    }
    ctx.report({"link ranks", 0, 0, "links"});
    run_statistics unused;
    const input_graph nodes = read_input_graph(store.path(), "", false, ctx, unused);
    const link_ranks found = page_rank(nodes.graph.view(), {},
                                       with_remaining_memory(ctx, nodes.bytes_held, "the links of a store"));

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
