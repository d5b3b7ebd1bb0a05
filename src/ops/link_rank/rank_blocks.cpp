// SPDX-License-Identifier: Apache-2.0
#include "ops/link_rank/rank_blocks.hpp"

#include <algorithm>
#include <cstddef>

#include "device/cpu/parallel.hpp"
#include "ops/link_rank/link_sums.hpp"
#include "ops/link_rank/node_mover.hpp"

namespace quern::link_rank_detail {
namespace {

/// Calls work(begin, end) → totals for ranges of the nodes of a block, on all threads.
template <class Work>
pass_totals over_block(cpu_place& place, const rank_block& block, const Work& work) {
    const std::vector<std::uint32_t> bounds = link_pieces(place, block.links.offsets);
    std::vector<pass_totals> parts(bounds.size() - 1);
    for_each_piece(place, parts.size(), [&](std::size_t p) { parts[p] = work(bounds[p], bounds[p + 1]); });
    pass_totals all;
    for (const pass_totals& part : parts) add_totals(all, part);
    return all;
}

template <class Value>
std::span<Value> part_of(std::span<Value> values, std::uint64_t begin, std::uint64_t end) {
    return values.empty() ? values : values.subspan(begin, end - begin);
}

}  // namespace

rank_block block_of(const link_graph_view& graph, const fixed_page_rank_params& params, std::uint32_t first,
                    std::uint32_t end, std::vector<std::uint64_t>& offsets) {
    const std::uint64_t begin_link = graph.offsets[first], end_link = graph.offsets[end];
    offsets.clear();
    for (std::uint32_t v = first; v <= end; ++v) offsets.push_back(graph.offsets[v] - begin_link);
    rank_block block;
    block.links.nodes = end - first;
    block.links.offsets = offsets;
    block.links.sources = part_of(graph.sources, begin_link, end_link);
    block.links.out_degrees = part_of(graph.out_degrees, first, end);
    block.params = params;
    block.params.teleport = part_of(params.teleport, first, end);
    block.params.preference = part_of(params.preference, first, end);
    block.params.start = part_of(params.start, first, end);
    block.params.link_weights = part_of(params.link_weights, begin_link, end_link);
    return block;
}

std::vector<std::uint32_t> block_bounds(const link_graph_view& graph, std::uint32_t count) {
    const auto work_before = [&](std::uint32_t v) {
        return graph.offsets.empty() ? 0 : graph.offsets[v] + work_of_node * v;
    };
    const std::uint64_t work = work_before(graph.nodes);
    std::vector<std::uint32_t> bounds{0};
    for (std::uint32_t b = 1; b < count; ++b) {
        const std::uint64_t wanted = work / count * b;
        std::uint32_t v = bounds.back();
        while (v < graph.nodes && work_before(v) < wanted) ++v;
        bounds.push_back(v);
    }
    bounds.push_back(graph.nodes);
    return bounds;
}

pass_totals begin_block(cpu_place& place, const rank_block& block, const step_control& control,
                        std::int64_t* ranks, std::int64_t* residuals, const sent_values& sent) {
    const slots_as_numbered slots;
    const node_mover<slots_as_numbered> mover(block.params, control, block.links.out_degrees, slots, ranks,
                                              residuals);
    return over_block(place, block, [&](std::uint32_t begin, std::uint32_t end) {
        return mover.begin(begin, end, sent.wide);
    });
}

pass_totals step_block(cpu_place& place, const rank_block& block, const step_control& control,
                       const sent_values& all, std::int64_t* ranks, std::int64_t* residuals,
                       const sent_values& sent) {
    const slots_as_numbered slots;
    const node_mover<slots_as_numbered> mover(block.params, control, block.links.out_degrees, slots, ranks,
                                              residuals);
    return over_block(place, block, [&](std::uint32_t begin, std::uint32_t end) {
        const bool wide = control.now.wide, next_wide = control.next.wide;
        if (wide && next_wide) return mover.step(block.links, all.wide, sent.wide, begin, end);
        if (wide) return mover.step(block.links, all.wide, sent.narrow, begin, end);
        if (next_wide) return mover.step(block.links, all.narrow, sent.wide, begin, end);
        return mover.step(block.links, all.narrow, sent.narrow, begin, end);
    });
}

}  // namespace quern::link_rank_detail
