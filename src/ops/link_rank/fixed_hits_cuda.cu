// SPDX-License-Identifier: Apache-2.0
// HITS in integers on a GPU. Each half step has three kernels: sums over the links (link_tiles.cuh), their total, and the
// scaling, which also measures the change and writes what is sent next. As in PageRank, the device decides when to stop and
// the host checks every few steps.
#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include "device/cuda/check.cuh"
#include "ops/link_rank/fixed_arithmetic.hpp"
#include "ops/link_rank/fixed_page_rank.hpp"
#include "ops/link_rank/hits_parts.hpp"
#include "ops/link_rank/link_tiles.cuh"

namespace quern::link_rank_detail {

struct cuda_hits_links {
    link_tiles forward, backward;
};

namespace {

using cuda::launch_shape;

constexpr unsigned block_threads = 256;
constexpr std::uint32_t steps_unseen = 8;  // host: steps enqueued together

/// In device memory. The last block of a kernel writes it.
struct hits_state {
    std::uint32_t halted = 0, iterations = 0, converged = 0;
    unsigned blocks_done = 0;
    std::uint64_t authority_change = 0, hub_change = 0;
    std::uint64_t total_low = 0, total_high = 0, change = 0;  ///< of the running kernel
    unit_scale scale;
};

/// One side of the graph: authorities or hubs.
struct side {
    std::int64_t *scores, *contributions;
    std::uint64_t *low, *high;  ///< sums over links; high: null without weights
};

__device__ unsigned long long* word(std::uint64_t& value) {
    return reinterpret_cast<unsigned long long*>(&value);
}

/// The block's sum, for thread 0.
__device__ wide_natural sum_over_block(wide_natural mine) {
    __shared__ std::uint64_t low[block_threads / 32], high[block_threads / 32];
    for (unsigned d = 16; d != 0; d /= 2) {
        const std::uint64_t other_low = __shfl_down_sync(~0u, static_cast<std::uint64_t>(mine), d);
        const std::uint64_t other_high = __shfl_down_sync(~0u, static_cast<std::uint64_t>(mine >> 64), d);
        mine += static_cast<wide_natural>(other_high) << 64 | other_low;
    }
    if (threadIdx.x % 32 == 0) {
        low[threadIdx.x / 32] = static_cast<std::uint64_t>(mine);
        high[threadIdx.x / 32] = static_cast<std::uint64_t>(mine >> 64);
    }
    __syncthreads();
    if (threadIdx.x == 0)
        for (unsigned w = 1; w < block_threads / 32; ++w)
            mine += static_cast<wide_natural>(high[w]) << 64 | low[w];
    return mine;
}

/// Whether all blocks have arrived; their earlier writes are then visible. Called by one thread per block.
__device__ bool last_block(hits_state* state) {
    __threadfence();
    if (atomicAdd(&state->blocks_done, 1u) + 1 != gridDim.x) return false;
    __threadfence();
    state->blocks_done = 0;
    return true;
}

/// Sets the initial scores and what they send; zeroes the sums. One thread per node.
__global__ void begin_kernel(side hubs, side authorities, std::uint32_t nodes, std::int64_t each,
                             unsigned repeat_bits) {
    const std::uint32_t v = blockIdx.x * blockDim.x + threadIdx.x;
    if (v >= nodes) return;
    hubs.scores[v] = authorities.scores[v] = 0;
    hubs.contributions[v] = each >> repeat_bits;
    authorities.low[v] = hubs.low[v] = 0;
    if (authorities.high != nullptr) authorities.high[v] = hubs.high[v] = 0;
}

/// Rounds sums with weights, adds all sums up and finds their scale. Threads take nodes in turn. Alone: on one device; on
/// several the host adds up the totals.
template <bool Alone>
__global__ void __launch_bounds__(block_threads)
    total_kernel(side to, std::uint32_t nodes, hits_state* state) {
    if (state->halted != 0) return;
    wide_natural mine = 0;
    for (std::uint64_t v = std::uint64_t{blockIdx.x} * block_threads + threadIdx.x; v < nodes;
         v += std::uint64_t{gridDim.x} * block_threads) {
        std::uint64_t sum = to.low[v];
        if (to.high != nullptr) {
            sum = static_cast<std::uint64_t>(rounded_products(
                static_cast<wide_integer>(static_cast<wide_natural>(to.high[v]) << 64 | sum)));
            to.low[v] = sum;
            to.high[v] = 0;
        }
        mine += sum;
    }
    mine = sum_over_block(mine);
    if (threadIdx.x != 0) return;
    const auto low = static_cast<std::uint64_t>(mine);
    const std::uint64_t before = atomicAdd(word(state->total_low), static_cast<unsigned long long>(low));
    atomicAdd(word(state->total_high),
              static_cast<unsigned long long>(static_cast<std::uint64_t>(mine >> 64) +
                                              (before + low < low ? 1 : 0)));
    if (!last_block(state) || !Alone) return;
    const volatile hits_state& seen = *state;
    state->scale = scale_of(static_cast<wide_natural>(seen.total_high) << 64 | seen.total_low);
    state->total_low = state->total_high = 0;
}

/// Scales, measures the change and writes what is sent; zeroes the sums. `step_ends`: `to` are hubs. Threads take nodes in
/// turn.
template <bool Alone>
__global__ void __launch_bounds__(block_threads)
    scale_kernel(side to, std::uint32_t nodes, unsigned repeat_bits, bool step_ends, std::uint64_t tolerance,
                 std::uint32_t max_iterations, hits_state* state) {
    if (state->halted != 0) return;
    const unit_scale scale = state->scale;
    std::uint64_t change = 0;
    for (std::uint64_t v = std::uint64_t{blockIdx.x} * block_threads + threadIdx.x; v < nodes;
         v += std::uint64_t{gridDim.x} * block_threads) {
        const std::int64_t now = scaled(to.low[v], scale);
        change += magnitude(now - to.scores[v]);
        to.scores[v] = now;
        to.contributions[v] = now >> repeat_bits;
        to.low[v] = 0;
    }
    const auto of_block = static_cast<std::uint64_t>(sum_over_block(change));
    if (threadIdx.x != 0) return;
    atomicAdd(word(state->change), static_cast<unsigned long long>(of_block));
    if (!last_block(state) || !Alone) return;
    const volatile hits_state& seen = *state;
    const std::uint64_t all = seen.change;
    state->change = 0;
    if (!step_ends) {
        state->authority_change = all;
        return;
    }
    state->hub_change = all;
    state->converged = state->authority_change < tolerance ? 1 : 0;
    if (++state->iterations == max_iterations || state->converged != 0) state->halted = 1;
}

/// `table_nodes`: what nodes send; of several devices that of all nodes, of which those from `first` on are here.
struct side_arrays {
    side_arrays(cuda_place& place, std::uint32_t nodes, bool weighted, std::uint32_t table_nodes)
        : scores(place, nodes, "scores"),
          contributions(place, table_nodes, "what nodes send"),
          low(place, nodes, "sums of links"),
          high(place, weighted ? nodes : 0, "sums of links") {}
    side view(std::uint32_t first = 0) const {
        return {scores.data(), contributions.data() + first, low.data(), high.data()};
    }
    cuda_array<std::int64_t> scores, contributions;
    cuda_array<std::uint64_t> low, high;
};

class hits_iteration {
  public:
    hits_iteration(cuda_place& place, const link_graph_view& graph, const link_graph_view& back,
                   const fixed_hits_params& params, kept_hits_links<cuda_place>& kept)
        : place_(place),
          params_(params),
          nodes_(graph.nodes),
          weighted_(!params.link_weights.empty()),
          state_(place, 1),
          hubs_(place, nodes_, weighted_, nodes_),
          authorities_(place, nodes_, weighted_, nodes_) {
        if (!kept)  // last: tiles take most of the memory that is left
            kept = std::make_shared<cuda_hits_links>(
                cuda_hits_links{{place, graph, params.link_weights, 2}, {place, back, params.back_weights}});
        links_ = kept;
    }

    fixed_hits_result run() {
        const hits_state first;
        place_.copy_in(state_.data(), &first, sizeof first);
        QUERN_LAUNCH(place_, (launch_shape{cuda::blocks_for(nodes_, block_threads), block_threads}),
                     begin_kernel, hubs_.view(), authorities_.view(), nodes_,
                     (std::int64_t{1} << 62) / nodes_, params_.repeat_bits);
        hits_state seen;
        const auto& [forward, backward] = *links_;
        const bool streams = forward.streams() || backward.streams();
        while (seen.halted == 0) {
            place_.ctx().check_stop();
            for (std::uint32_t i = 0; i < (streams ? 1 : steps_unseen); ++i) {
                half_step(forward, hubs_, authorities_, false);
                half_step(backward, authorities_, hubs_, true);
            }
            place_.copy_out(&seen, state_.data(), sizeof seen);
        }
        return {to_host(place_, authorities_.scores.span()),
                to_host(place_, hubs_.scores.span()),
                seen.iterations,
                seen.authority_change,
                seen.hub_change,
                seen.converged != 0};
    }

  private:
    void half_step(const link_tiles& links, const side_arrays& from, const side_arrays& to, bool step_ends) {
        const auto* halted = &state_.data()->halted;
        if (weighted_)
            links.add_weighted(place_, from.contributions.data(), to.low.data(), to.high.data(), halted);
        else
            links.add(place_, from.contributions.data(), to.low.data(), halted);
        const unsigned blocks =
            std::min(cuda::blocks_for(nodes_, block_threads), 8 * place_.multiprocessors());
        QUERN_LAUNCH(place_, (launch_shape{blocks, block_threads}), total_kernel<true>, to.view(), nodes_,
                     state_.data());
        QUERN_LAUNCH(place_, (launch_shape{blocks, block_threads}), scale_kernel<true>, to.view(), nodes_,
                     params_.repeat_bits, step_ends, params_.tolerance, params_.max_iterations,
                     state_.data());
    }

    cuda_place& place_;
    const fixed_hits_params& params_;
    std::uint32_t nodes_;
    bool weighted_;
    cuda_array<hits_state> state_;
    side_arrays hubs_, authorities_;
    std::shared_ptr<const cuda_hits_links> links_;
};

}  // namespace

fixed_hits_result fixed_hits(cuda_place& place, const link_graph_view& graph, const link_graph_view& back,
                             const fixed_hits_params& params) {
    kept_hits_links<cuda_place> links;
    return fixed_hits(place, graph, back, params, links);
}
fixed_hits_result fixed_hits(cuda_place& place, const link_graph_view& graph, const link_graph_view& back,
                             const fixed_hits_params& params, kept_hits_links<cuda_place>& kept) {
    if (graph.nodes == 0) return {};
    return hits_iteration(place, graph, back, params, kept).run();
}

struct hits_part<cuda_place>::state {
    state(cuda_place& at, const link_graph_view& forward, const link_graph_view& backward,
          const device_share& one)
        : place(at),
          graph(forward),
          back(backward),
          share(one),
          range(range_of(forward, backward, one)),
          sent(at) {}

    struct call_state {
        call_state(cuda_place& place, const node_range& range, std::uint32_t nodes,
                   const fixed_hits_params& params)
            : repeat_bits(params.repeat_bits),
              weighted(!params.link_weights.empty()),
              counters(place, 1),
              authorities(place, range.size(), weighted, nodes),
              hubs(place, range.size(), weighted, nodes) {}
        unsigned repeat_bits;
        bool weighted;
        cuda_array<hits_state> counters;
        side_arrays authorities, hubs;
        side_arrays& of(hits_side side) { return side == hits_side::hubs ? hubs : authorities; }
    };

    void make_links(const fixed_hits_params& params) {
        std::vector<std::uint64_t> offsets;
        const auto tiles = [&](const link_graph_view& all, std::span<const std::uint64_t> weights,
                               unsigned shares) {
            const side_links mine = links_of_range(all, weights, range.first, range.end, offsets);
            return link_tiles(place, mine.links, mine.weights, shares);
        };
        link_tiles forward = tiles(graph, params.link_weights, 2);
        links.emplace(cuda_hits_links{std::move(forward), tiles(back, params.back_weights, 1)});
    }
    launch_shape shape() const {
        return {std::min(cuda::blocks_for(range.size(), block_threads), 8 * place.multiprocessors()),
                block_threads};
    }
    void write(const hits_state& now) { place.copy_in(call->counters.data(), &now, sizeof now); }
    hits_state read() {
        hits_state seen;
        place.copy_out(&seen, call->counters.data(), sizeof seen);
        return seen;
    }

    cuda_place& place;
    link_graph_view graph, back;
    device_share share;
    node_range range;
    std::optional<cuda_hits_links> links;
    std::optional<call_state> call;
    place_mark<cuda_place> sent;
};

hits_part<cuda_place>::hits_part(cuda_place& place, const link_graph_view& graph, const link_graph_view& back,
                                 const device_share& share)
    : state_(std::make_unique<state>(place, graph, back, share)) {}
hits_part<cuda_place>::~hits_part() = default;

void hits_part<cuda_place>::prepare(const fixed_hits_params& params) {
    state_->call.reset();
    state_->call.emplace(state_->place, state_->range, state_->graph.nodes, params);
    if (!state_->links) state_->make_links(params);  // last: tiles take most of the memory that is left
    state_->place.synchronise();                     // others may write to the tables
}
void hits_part<cuda_place>::open_tables(std::span<const std::unique_ptr<hits_part>> writers) {
    for (const auto& writer : writers)
        open_for(writer->state_->place, state_->place, state_->call->hubs.contributions.span());
}
void hits_part<cuda_place>::begin(std::int64_t each) {
    state& here = *state_;
    QUERN_LAUNCH(
        here.place, (launch_shape{cuda::blocks_for(here.range.size(), block_threads), block_threads}),
        begin_kernel, here.call->hubs.view(here.range.first), here.call->authorities.view(here.range.first),
        here.range.size(), each, here.call->repeat_bits);
    here.place.synchronise();
}
wide_natural hits_part<cuda_place>::sum(hits_side of) {
    state& here = *state_;
    here.write({});
    const bool to_hubs = of == hits_side::hubs;
    const link_tiles& links = to_hubs ? here.links->backward : here.links->forward;
    const auto* const table =
        here.call->of(to_hubs ? hits_side::authorities : hits_side::hubs).contributions.data();
    const side_arrays& to = here.call->of(of);
    const auto* const halted = &here.call->counters.data()->halted;
    if (here.call->weighted)
        links.add_weighted(here.place, table, to.low.data(), to.high.data(), halted);
    else
        links.add(here.place, table, to.low.data(), halted);
    QUERN_LAUNCH(here.place, here.shape(), total_kernel<false>, to.view(here.range.first), here.range.size(),
                 here.call->counters.data());
    const hits_state seen = here.read();
    return static_cast<wide_natural>(seen.total_high) << 64 | seen.total_low;
}
std::uint64_t hits_part<cuda_place>::scale(hits_side of, const unit_scale& scale) {
    state& here = *state_;
    hits_state now;
    now.scale = scale;
    here.write(now);
    QUERN_LAUNCH(here.place, here.shape(), scale_kernel<false>, here.call->of(of).view(here.range.first),
                 here.range.size(), here.call->repeat_bits, of == hits_side::hubs, std::uint64_t{0}, 0u,
                 here.call->counters.data());
    return here.read().change;
}
void hits_part<cuda_place>::send(hits_side from, std::span<const std::unique_ptr<hits_part>> all) {
    state& here = *state_;
    const auto mine = [&](state& there) {
        return there.call->of(from).contributions.span().subspan(here.range.first, here.range.size());
    };
    // Each begins with its successor, so that no device is the target of all.
    for (std::size_t i = 1; i < all.size(); ++i) {
        state& there = *all[(here.share.index + i) % all.size()]->state_;
        copy_across<std::int64_t>(here.place, mine(here), there.place, mine(there));
    }
    here.sent.set();
}
void hits_part<cuda_place>::await(std::span<const std::unique_ptr<hits_part>> all) {
    for (const auto& other : all)
        if (other.get() != this) other->state_->sent.await(state_->place);
}
void hits_part<cuda_place>::scores_to(hits_side of, std::span<std::int64_t> scores) {
    state& here = *state_;
    if (here.range.size() == 0) return;
    copy_out<std::int64_t>(here.place, here.call->of(of).scores.span(),
                           scores.subspan(here.range.first, here.range.size()));
}
void hits_part<cuda_place>::end() {
    state_->call.reset();
}

}  // namespace quern::link_rank_detail
