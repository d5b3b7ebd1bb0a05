// SPDX-License-Identifier: Apache-2.0
// The integer iteration on several GPUs (rank_parts.hpp): each has the passes of its slots, and the host decides how to
// continue, once it has the totals of all.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <type_traits>
#include <vector>

#include "ops/link_rank/rank_parts.hpp"
#include "ops/link_rank/rank_state.cuh"

namespace quern::link_rank_detail {

using namespace rank_cuda;

struct rank_part<cuda_place>::state {
    state(cuda_place& at, const link_graph_view& searched, const device_share& one)
        : place(at), graph(searched), share(one), sent(at) {}

    std::uint64_t pairs() const { return (std::uint64_t{links.range.size} + 1) / 2; }
    /// Those that may send anything but 0, which is in all tables.
    slot_range sending() const {
        if (!links.slices) return links.range;
        const std::uint32_t end = std::min(links.range.end(), links.slices->sending_slots());
        return {links.range.first, end - std::min(end, links.range.first)};
    }
    /// Three more may be read, and one written.
    std::uint64_t table_slots() const { return (std::uint64_t{links.slots.slots} + 5) / 2 * 2; }
    void make_arrays(const fixed_page_rank_params& params) {
        call.reset();
        call.emplace(place, params, graph.nodes, pairs(), table_slots());
    }
    void arrange_in_slices(const fixed_page_rank_params& params, const sliced_ell_layout& layout) {
        links.slices.emplace(place, graph, layout, share);
        links.slots = links.slices->slots();
        links.range = links.slices->targets();
        make_arrays(params);
        bring_degrees(place, graph, pairs(), call->spare(), links);
    }
    void release() {
        call.reset();
        links = {};
    }
    /// Offsets from 0: the range is a graph, whose sources are all nodes.
    void leave_in_order(const fixed_page_rank_params& params) {
        const std::vector<std::uint32_t> bounds = block_bounds(graph, share.count);
        const auto bound = [&](std::uint32_t i) {
            return i == share.count ? graph.nodes : bounds[i] / 4 * 4;
        };
        const std::uint32_t first = bound(share.index), end = bound(share.index + 1);
        links.slots = {graph.nodes, graph.nodes, nullptr};
        links.range = {first, end - first};
        make_arrays(params);
        bring_degrees(place, graph, pairs(), call->spare(), links);
        std::vector<std::uint64_t> offsets;
        const rank_block block = block_of(graph, params, first, end, offsets);
        links.tiles.emplace(place, block.links, block.params.link_weights);
    }

    cuda_place& place;
    link_graph_view graph;
    device_share share;
    cuda_rank_links links;
    std::optional<rank_state> call;
    place_mark<cuda_place> sent;
};

rank_part<cuda_place>::rank_part(cuda_place& place, const link_graph_view& graph, const device_share& share)
    : state_(std::make_unique<state>(place, graph, share)) {}
rank_part<cuda_place>::~rank_part() = default;

bool rank_part<cuda_place>::can_be_sliced(const link_graph_view& graph,
                                          const fixed_page_rank_params& params) {
    return params.link_weights.empty() && !has_huge_node(graph);
}

bool rank_part<cuda_place>::make_links(const fixed_page_rank_params& params, link_order order,
                                       const sliced_ell_layout& layout) {
    state_->release();
    if (order == link_order::original) {
        state_->leave_in_order(params);
        return true;
    }
    try {
        state_->arrange_in_slices(params, layout);
        state_->place.synchronise();
        return true;
    } catch (const out_of_memory&) {
        state_->release();
        return false;
    }
}
sliced_ell_layout rank_part<cuda_place>::layout() const {
    return state_->links.slices ? state_->links.slices->layout() : sliced_ell_layout{};
}

void rank_part<cuda_place>::prepare(const fixed_page_rank_params& params) {
    state_->make_arrays(params);
    state_->call->clear_tables();
    state_->call->bring_nodes(state_->links);
    state_->place.synchronise();  // others may write to the tables
}
void rank_part<cuda_place>::open_tables(std::span<const std::unique_ptr<rank_part>> writers) {
    for (const auto& writer : writers)
        open_for(writer->state_->place, state_->place, state_->call->wide().span());
}

namespace {

/// The totals of a pass. Waits for it.
pass_totals totals_of(rank_state& call) {
    const totals all = call.read().of_pass;
    return {all.change, all.greatest, all.residual_mass, static_cast<std::int64_t>(all.dangling_mass)};
}

}  // namespace

pass_totals rank_part<cuda_place>::begin(const step_control& /*control*/) {
    state_->call->write({});
    state_->call->begin<false>(state_->links);
    return totals_of(*state_->call);
}
pass_totals rank_part<cuda_place>::step(const step_control& control) {
    step_state now;
    now.now_shift = control.now.shift;
    now.next_shift = control.next.shift;
    now.each = control.uniform_share;
    now.personalised_share = control.personalised_share;
    state_->call->write(now);
    state_->call->step<false>(state_->links, control.now.wide, control.next.wide);
    return totals_of(*state_->call);
}

void rank_part<cuda_place>::send(std::span<const std::unique_ptr<rank_part>> all, bool wide) {
    const slot_range range = state_->sending();
    const auto copy_to = [&](const rank_part& other, const auto& mine, const auto& table) {
        using value = std::remove_pointer_t<decltype(mine.data())>;
        copy_across<value>(state_->place, mine.span().subspan(range.first, range.size), other.state_->place,
                           table.span().subspan(range.first, range.size));
    };
    // Each begins with its successor, so that no device is the target of all.
    for (std::size_t i = 1; i < all.size(); ++i) {
        const rank_part& other = *all[(state_->share.index + i) % all.size()];
        if (wide)
            copy_to(other, state_->call->wide(), other.state_->call->wide());
        else
            copy_to(other, state_->call->narrow(), other.state_->call->narrow());
    }
    state_->sent.set();
}
void rank_part<cuda_place>::await(std::span<const std::unique_ptr<rank_part>> all) {
    for (const auto& other : all)
        if (other.get() != this) other->state_->sent.await(state_->place);
}

void rank_part<cuda_place>::ranks_to(std::span<std::int64_t> ranks) {
    state_->call->ranks_to(state_->links, ranks);
}
void rank_part<cuda_place>::end() {
    state_->call.reset();
}

}  // namespace quern::link_rank_detail
