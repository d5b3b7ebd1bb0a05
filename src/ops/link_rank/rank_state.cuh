// SPDX-License-Identifier: Apache-2.0
// The links of a range of slots on a GPU, and what a call of the integer iteration keeps there: shared by the iteration on
// one device (fixed_page_rank_cuda.cu) and by each part of several (rank_parts_cuda.cu).
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <type_traits>

#include "device/array.hpp"
#include "device/cuda/check.cuh"
#include "ops/link_rank/fixed_page_rank.hpp"
#include "ops/link_rank/link_tiles.cuh"
#include "ops/link_rank/rank_kernels.cuh"
#include "ops/link_rank/sliced_ell.cuh"

namespace quern::link_rank_detail {

struct cuda_rank_links {
    node_slots slots;
    slot_range range;                   ///< whose links are here
    cuda_array<std::uint64_t> degrees;  ///< by slot of the range
    std::optional<sliced_ell> slices;   ///< one of the two is used
    std::optional<link_tiles> tiles;
};

namespace rank_cuda {

using cuda::launch_shape;

/// What one call keeps of the nodes of a range, and its kernels. `table_slots`: of all nodes.
class rank_state {
  public:
    rank_state(cuda_place& place, const fixed_page_rank_params& params, std::uint32_t nodes,
               std::uint64_t pairs, std::uint64_t table_slots)
        : place_(place),
          params_(params),
          nodes_(nodes),
          weighted_(!params.link_weights.empty()),
          pairs_(pairs),
          state_(place, 1),
          ranks_(place, 2 * pairs_, "the ranks"),
          residuals_(place, 2 * pairs_, "the residuals"),
          low_(place, 2 * pairs_, "sums of links"),
          high_(place, weighted_ ? 2 * pairs_ : 0, "sums of links"),
          narrow_(place, weighted_ ? 0 : table_slots, "what nodes send"),
          wide_(place, table_slots, "what nodes send"),
          teleport_(place, params.teleport.empty() ? 0 : 2 * pairs_, "the preference"),
          preference_(place, params.preference.empty() ? 0 : 2 * pairs_, "the preference"),
          start_(place, params.start.empty() ? 0 : 2 * pairs_, "ranks to begin with") {}

    /// Copies what this call has of each node, by slot.
    void bring_nodes(const cuda_rank_links& links) {
        const auto bring = [&](const auto& values, const auto& array) {
            if (values.empty()) return;
            place_.fill_bytes(array.data(), 0, array.span().size_bytes());
            to_slots(place_, links.slots, links.range, values, array, low_);
        };
        bring(params_.teleport, teleport_);
        bring(params_.preference, preference_);
        bring(params_.start, start_);
    }
    /// Zeroes the tables: slots that no pass here writes are padding, or another device's.
    void clear_tables() {
        place_.fill_bytes(narrow_.data(), 0, narrow_.span().size_bytes());
        place_.fill_bytes(wide_.data(), 0, wide_.span().size_bytes());
    }

    void write(const step_state& state) { place_.copy_in(state_.data(), &state, sizeof state); }
    step_state read() {
        step_state seen;
        place_.copy_out(&seen, state_.data(), sizeof seen);
        return seen;
    }
    void go_on() { place_.fill_bytes(&state_.data()->halted, 0, sizeof(going)); }

    template <bool Alone>
    void begin(const cuda_rank_links& links) {
        if (weighted_)
            launch(links, begin_kernel<sending::weighted, Alone>);
        else
            launch(links, begin_kernel<sending::wide, Alone>);
    }
    template <bool Alone>
    void step(const cuda_rank_links& links, bool summed_wide, bool take_wide) {
        add_links(links, summed_wide);
        if (weighted_)
            launch(links, step_kernel<sending::weighted, Alone>);
        else if (take_wide)
            launch(links, step_kernel<sending::wide, Alone>);
        else
            launch(links, step_kernel<sending::narrow, Alone>);
    }

    void ranks_to(const cuda_rank_links& links, std::span<std::int64_t> ranks) {
        to_nodes(place_, links.slots, links.range, ranks_, low_, ranks);
    }
    const cuda_array<std::uint64_t>& spare() const { return low_; }
    const cuda_array<std::int32_t>& narrow() const { return narrow_; }
    const cuda_array<std::int64_t>& wide() const { return wide_; }

  private:
    node_arrays arrays(const cuda_rank_links& links) const {
        const auto two = []<class T>(const cuda_array<T>& array, std::uint32_t first = 0) {
            T* const from = array.data() == nullptr ? nullptr : array.data() + first;
            if constexpr (std::is_same_v<T, std::int32_t>)
                return reinterpret_cast<int2*>(from);
            else if constexpr (std::is_same_v<T, std::int64_t>)
                return reinterpret_cast<longlong2*>(from);
            else
                return reinterpret_cast<ulonglong2*>(from);
        };
        return {pairs_,
                two(links.degrees),
                two(ranks_),
                two(residuals_),
                two(low_),
                two(high_),
                two(narrow_, links.range.first),
                two(wide_, links.range.first),
                two(teleport_),
                two(preference_),
                two(start_),
                params_.teleport_each,
                params_.start_each};
    }
    constants requested() const {
        return {params_.alpha, params_.tolerance,           params_.max_iterations,
                nodes_,        params_.contribution_digits, params_.dangling};
    }
    void add_links(const cuda_rank_links& links, bool wide) {
        const auto* halted = reinterpret_cast<const std::uint32_t*>(&state_.data()->halted);
        const std::optional<sliced_ell>& slices = links.slices;
        const std::optional<link_tiles>& tiles = links.tiles;
        if (weighted_)
            tiles->add_weighted(place_, wide_.data(), low_.data(), high_.data(), halted);
        else if (slices && wide)
            slices->add(place_, wide_.data(), low_.data(), halted);
        else if (slices)
            slices->add(place_, narrow_.data(), low_.data(), halted);
        else if (wide)
            tiles->add(place_, wide_.data(), low_.data(), halted);
        else
            tiles->add(place_, narrow_.data(), low_.data(), halted);
    }
    void launch(const cuda_rank_links& links, void (*kernel)(node_arrays, constants, step_state*)) {
        const unsigned blocks = cuda::blocks_for(pairs_, block_threads);
        QUERN_LAUNCH(
            place_,
            (launch_shape{std::min(blocks, 4 * place_.multiprocessors()), block_threads, 0, false, true}),
            kernel, arrays(links), requested(), state_.data());
    }

    cuda_place& place_;
    const fixed_page_rank_params& params_;
    std::uint32_t nodes_;
    bool weighted_;
    std::uint64_t pairs_;
    cuda_array<step_state> state_;
    cuda_array<std::int64_t> ranks_, residuals_;
    cuda_array<std::uint64_t> low_, high_;
    cuda_array<std::int32_t> narrow_;
    cuda_array<std::int64_t> wide_;
    cuda_array<std::int64_t> teleport_;
    cuda_array<std::uint64_t> preference_;
    cuda_array<std::int64_t> start_;
};

/// Whether a node has more links than 32 bits can count.
inline bool has_huge_node(const link_graph_view& graph) {
    if (graph.sources.size() >> 32 == 0) return false;
    for (std::size_t v = 0; v < graph.nodes; ++v)
        if ((graph.offsets[v + 1] - graph.offsets[v]) >> 32 != 0) return true;
    return false;
}

/// Degrees of the range, for passes over `pairs`.
inline void bring_degrees(cuda_place& place, const link_graph_view& graph, std::uint64_t pairs,
                          const cuda_array<std::uint64_t>& spare, cuda_rank_links& links) {
    links.degrees = cuda_array<std::uint64_t>(place, 2 * pairs, "out-degrees");
    place.fill_bytes(links.degrees.data(), 0xff, links.degrees.span().size_bytes());
    to_slots(place, links.slots, links.range, graph.out_degrees, links.degrees, spare);
}

}  // namespace rank_cuda
}  // namespace quern::link_rank_detail
