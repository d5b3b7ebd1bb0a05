// SPDX-License-Identifier: Apache-2.0
// The integer iteration on a GPU. A step has two kernels: sums over the links (sliced_ell.cuh; link_tiles.cuh where links
// have weights or do not fit), and one pass over the nodes that spreads the step, measures it and takes for the next. The
// last block of a pass decides how to continue, so that steps follow each other without the host, which checks every few
// steps. Kernels enqueued after the end do nothing. As one of several GPUs (rank_parts.hpp) it has the passes of its own
// slots, and the host decides, once it has the totals of all.
#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <type_traits>

#include "device/cuda/check.cuh"
#include "device/cuda/portable.cuh"
#include "ops/link_rank/fixed_arithmetic.hpp"
#include "ops/link_rank/fixed_page_rank.hpp"
#include "ops/link_rank/link_tiles.cuh"
#include "ops/link_rank/rank_parts.hpp"
#include "ops/link_rank/sliced_ell.cuh"

namespace quern::link_rank_detail {

struct cuda_rank_links {
    node_slots slots;
    slot_range range;                   ///< whose links are here
    cuda_array<std::uint64_t> degrees;  ///< by slot of the range
    std::optional<sliced_ell> slices;   ///< one of the two is used
    std::optional<link_tiles> tiles;
};

namespace {

using cuda::launch_shape;

constexpr unsigned block_threads = 256;
constexpr std::uint32_t steps_unseen = 8;             // host: steps enqueued together
constexpr std::uint64_t no_node = ~std::uint64_t{0};  // in place of a degree: slot without a node

/// What nodes send: 32 bits, 64 bits, or their whole residual, to be weighted.
enum class sending : std::uint8_t { narrow, wide, weighted };

enum class going : std::uint32_t {
    on = 0,
    ended,
    widens,  ///< the next pass must take wide; the host has to enqueue that
};

/// What a pass adds up over its nodes.
struct totals {
    std::uint64_t change, greatest, residual_mass, dangling_mass;
};

/// The state of the iteration. In device memory; the last block of a pass writes it.
struct step_state {
    going halted = going::on;
    std::uint32_t iterations = 0, wide_steps = 0, converged = 0;
    std::uint64_t change = 0, before = ~std::uint64_t{0}, before_that = ~std::uint64_t{0};
    unsigned now_shift = 0, next_shift = 0;  ///< of the last take; of the next one
    bool now_wide = true, next_wide = true, stays_wide = false;
    std::int64_t each = 0, personalised_share = 0;  ///< lost mass: to each node; by preference
    even_shares even;
    totals sum{};  ///< of the running pass
    unsigned blocks_done = 0;
    totals of_pass{};  ///< for the host, where the graph is on several devices
};

struct constants {
    std::uint64_t alpha, tolerance;
    std::uint32_t max_iterations, nodes;
    unsigned contribution_digits;
    dangling_rule dangling;
};

/// Arrays by slot of a range, two slots per thread. `degrees` are no_node past the nodes and in slots without a node.
struct node_arrays {
    std::uint64_t pairs;
    const ulonglong2* degrees;
    longlong2 *ranks, *residuals;
    ulonglong2 *low, *high;  ///< sums over links; high: weighted
    int2* narrow;            ///< one of the two is sent
    longlong2* wide;
    const longlong2* teleport;     ///< null: teleport_each
    const ulonglong2* preference;  ///< null: none
    const longlong2* start;        ///< null: start_each
    std::int64_t teleport_each, start_each;
};

/// Adds a block's totals to the state. Returns true for one thread of the last block to arrive; it sees all totals.
__device__ bool add_totals(step_state* state, totals mine) {
    __shared__ totals of_warps[block_threads / 32];
    const auto fold = [](totals a, const totals& b) {
        return totals{a.change + b.change, max(a.greatest, b.greatest), a.residual_mass + b.residual_mass,
                      a.dangling_mass + b.dangling_mass};
    };
    for (unsigned d = 16; d != 0; d /= 2) {
        mine = fold(mine, {__shfl_down_sync(~0u, mine.change, d), __shfl_down_sync(~0u, mine.greatest, d),
                           __shfl_down_sync(~0u, mine.residual_mass, d),
                           __shfl_down_sync(~0u, mine.dangling_mass, d)});
    }
    if (threadIdx.x % 32 == 0) of_warps[threadIdx.x / 32] = mine;
    __syncthreads();
    if (threadIdx.x != 0) return false;
    for (unsigned w = 1; w < block_threads / 32; ++w) mine = fold(mine, of_warps[w]);
    const auto word = [](std::uint64_t& value) { return reinterpret_cast<unsigned long long*>(&value); };
    atomicAdd(word(state->sum.change), static_cast<unsigned long long>(mine.change));
    atomicMax(word(state->sum.greatest), static_cast<unsigned long long>(mine.greatest));
    atomicAdd(word(state->sum.residual_mass), static_cast<unsigned long long>(mine.residual_mass));
    atomicAdd(word(state->sum.dangling_mass), static_cast<unsigned long long>(mine.dangling_mass));
    __threadfence();
    if (atomicAdd(&state->blocks_done, 1u) + 1 != gridDim.x) return false;
    __threadfence();
    return true;
}

/// Returns the sums of all blocks and zeroes them for the next pass. Called by the last thread.
__device__ totals collect_totals(step_state* state) {
    volatile totals& sum = state->sum;  // written by other threads' atomics
    const totals all{sum.change, sum.greatest, sum.residual_mass, sum.dangling_mass};
    state->sum = {};
    state->blocks_done = 0;
    return all;
}

__device__ void share_dangling_mass(step_state* state, const constants& params, std::uint64_t dangling_mass) {
    const std::int64_t share = times_fraction(params.alpha, static_cast<std::int64_t>(dangling_mass));
    state->each = params.dangling == dangling_rule::uniform ? state->even.next(share, params.nodes) : 0;
    state->personalised_share = params.dangling == dangling_rule::preference ? share : 0;
}

/// Runs after the pass that spread and measured a step and took for the next. Called by the last thread.
__device__ void turn(step_state* state, const constants& params, bool weighted) {
    const totals all = collect_totals(state);
    ++state->iterations;
    if (state->now_wide && !weighted) ++state->wide_steps;
    state->change = all.change;
    state->converged = all.change < params.tolerance ? 1 : 0;
    const bool stuck =
        state->iterations >= 3 && all.change >= state->before && state->before >= state->before_that;
    if (state->converged != 0 || state->iterations == params.max_iterations || stuck) {
        state->halted = going::ended;
        return;
    }
    state->before_that = state->before;
    state->before = all.change;
    share_dangling_mass(state, params, all.dangling_mass);
    if (weighted) return;
    state->now_wide = state->next_wide;
    state->now_shift = state->next_shift;
    const unsigned shift = shift_for(all.greatest, params.contribution_digits);
    const bool clamped = shift > state->next_shift;
    if (!state->stays_wide && state->next_shift > 0 && !clamped && all.residual_mass > all.change / 16) {
        state->stays_wide = true;
        state->halted = going::widens;
    }
    state->next_wide = state->stays_wide;
    state->next_shift = state->stays_wide ? 0 : shift;
}

template <sending Next>
struct contribution_of {
    using type = std::int64_t;
    static constexpr bool weighted = Next == sending::weighted;
    static __device__ std::int64_t contribution(std::int64_t amount, double divisor) {
        return wide_contribution(amount, divisor);
    }
};
template <>
struct contribution_of<sending::narrow> {
    using type = std::int32_t;
    static constexpr bool weighted = false;
    static __device__ std::int32_t contribution(std::int64_t amount, double divisor) {
        return narrow_contribution(amount, divisor);
    }
};

/// What a node sends of `amount`. What is taken for it is lost, or is returned in `taken_part`.
template <sending Next>
__device__ __forceinline__ typename contribution_of<Next>::type take(std::int64_t amount,
                                                                     std::uint64_t degree, unsigned shift,
                                                                     std::int64_t& taken_part, totals& sum) {
    taken_part = amount;
    if (degree == 0) {
        sum.dangling_mass += static_cast<std::uint64_t>(amount);
        return 0;
    }
    if constexpr (contribution_of<Next>::weighted) {
        return amount;
    } else {
        const double divisor = static_cast<double>(degree) * static_cast<double>(std::uint64_t{1} << shift);
        const auto each = contribution_of<Next>::contribution(amount, divisor);
        taken_part = taken(each, degree, shift);
        return each;
    }
}

/// Sets initial ranks and residuals; takes `start` for the first step. Zeroes the sums of links. Alone: on one device.
template <sending Next, bool Alone>
__global__ void __launch_bounds__(block_threads)
    begin_kernel(node_arrays nodes, constants params, step_state* state) {
    cuda::wait_for_previous_kernel();
    totals sum{};
    const auto of_node = [&](std::int64_t start, std::uint64_t degree, auto& residual, auto& contributions) {
        contributions = 0;
        if (degree == no_node) return;
        std::int64_t taken_part;
        contributions = take<Next>(start, degree, 0, taken_part, sum);
        residual -= taken_part;
    };
    for (std::uint64_t p = std::uint64_t{blockIdx.x} * block_threads + threadIdx.x; p < nodes.pairs;
         p += std::uint64_t{gridDim.x} * block_threads) {
        longlong2 residual = nodes.teleport != nullptr
                                 ? nodes.teleport[p]
                                 : make_longlong2(nodes.teleport_each, nodes.teleport_each);
        const longlong2 start =
            nodes.start != nullptr ? nodes.start[p] : make_longlong2(nodes.start_each, nodes.start_each);
        const ulonglong2 degree = nodes.degrees[p];
        nodes.ranks[p] = residual;
        longlong2 contributions;
        of_node(start.x, degree.x, residual.x, contributions.x);
        of_node(start.y, degree.y, residual.y, contributions.y);
        nodes.residuals[p] = residual;
        nodes.wide[p] = contributions;
        nodes.low[p] = {};
        if constexpr (contribution_of<Next>::weighted) nodes.high[p] = {};
    }
    if (!add_totals(state, sum)) return;
    const totals all = collect_totals(state);
    if constexpr (Alone)
        share_dangling_mass(state, params, all.dangling_mass);
    else
        state->of_pass = all;
}

/// Spreads and measures a step, and takes for the next. Two slots per thread, 16 bytes per array; as many blocks as run at
/// once.
template <sending Next, bool Alone>
__global__ void __launch_bounds__(block_threads, 4)
    step_kernel(node_arrays nodes, constants params, step_state* state) {
    cuda::wait_for_previous_kernel();
    if (state->halted != going::on) return;
    const unsigned now_shift = state->now_shift, next_shift = state->next_shift;
    const std::int64_t each = state->each, personalised_share = state->personalised_share;
    totals sum{};
    const auto of_node = [&](std::uint64_t degree, std::uint64_t low, std::uint64_t high,
                             std::uint64_t preference, auto& rank, auto& residual, auto& contributions) {
        contributions = 0;
        if (degree == no_node) return;
        std::int64_t along_links;
        if constexpr (contribution_of<Next>::weighted)
            along_links =
                rounded_products(static_cast<wide_integer>(static_cast<wide_natural>(high) << 64 | low));
        else
            along_links = static_cast<std::int64_t>(low << now_shift);
        std::int64_t gain = times_fraction(params.alpha, along_links) + each;
        if (personalised_share != 0) gain += times_fraction(preference, personalised_share);
        rank += gain;
        const std::int64_t moved = residual + gain;
        sum.change += magnitude(moved);
        if (degree != 0) sum.greatest = max(sum.greatest, size_a_link(moved, degree));
        std::int64_t taken_part;
        contributions = take<Next>(moved, degree, next_shift, taken_part, sum);
        residual = moved - taken_part;
        sum.residual_mass += magnitude(residual);
    };
    for (std::uint64_t p = std::uint64_t{blockIdx.x} * block_threads + threadIdx.x; p < nodes.pairs;
         p += std::uint64_t{gridDim.x} * block_threads) {
        const ulonglong2 degree = nodes.degrees[p], low = nodes.low[p];
        ulonglong2 high{}, preference{};
        if constexpr (contribution_of<Next>::weighted) high = nodes.high[p];
        if (personalised_share != 0) preference = nodes.preference[p];
        longlong2 rank = nodes.ranks[p], residual = nodes.residuals[p];
        std::conditional_t<Next == sending::narrow, int2, longlong2> contributions;
        of_node(degree.x, low.x, high.x, preference.x, rank.x, residual.x, contributions.x);
        of_node(degree.y, low.y, high.y, preference.y, rank.y, residual.y, contributions.y);
        nodes.ranks[p] = rank;
        nodes.residuals[p] = residual;
        nodes.low[p] = {};
        if constexpr (contribution_of<Next>::weighted) nodes.high[p] = {};
        if constexpr (Next == sending::narrow)
            nodes.narrow[p] = contributions;
        else
            nodes.wide[p] = contributions;
    }
    if (!add_totals(state, sum)) return;
    if constexpr (Alone)
        turn(state, params, contribution_of<Next>::weighted);
    else
        state->of_pass = collect_totals(state);
}

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
bool has_huge_node(const link_graph_view& graph) {
    if (graph.sources.size() >> 32 == 0) return false;
    for (std::size_t v = 0; v < graph.nodes; ++v)
        if ((graph.offsets[v + 1] - graph.offsets[v]) >> 32 != 0) return true;
    return false;
}

/// Degrees of the range, for passes over `pairs`.
void bring_degrees(cuda_place& place, const link_graph_view& graph, std::uint64_t pairs,
                   const cuda_array<std::uint64_t>& spare, cuda_rank_links& links) {
    links.degrees = cuda_array<std::uint64_t>(place, 2 * pairs, "out-degrees");
    place.fill_bytes(links.degrees.data(), 0xff, links.degrees.span().size_bytes());
    to_slots(place, links.slots, links.range, graph.out_degrees, links.degrees, spare);
}

class iteration {
  public:
    iteration(cuda_place& place, const link_graph_view& graph, const fixed_page_rank_params& params,
              const sliced_ell_layout& layout, kept_rank_links<cuda_place>& kept)
        : place_(place),
          graph_(graph),
          params_(params),
          pairs_((std::uint64_t{graph.nodes} + max_hot_groups + 4) / 2),  // three more may be read
          nodes_(place, params, graph.nodes, pairs_, 2 * pairs_) {
        if (!kept) kept = make_links(layout);  // last: tiles take most of the memory that is left
        links_ = kept;
        nodes_.bring_nodes(*links_);
    }

    fixed_page_rank_result run() {
        nodes_.write({});
        nodes_.begin<true>(*links_);
        // Links are summed in the mode of the last take; the next take uses the mode in the state: wide twice at first, and
        // from the step on where narrow ones round too much.
        bool summed_wide = true, take_wide = true, stays_wide = !params_.link_weights.empty();
        for (;;) {
            place_.ctx().check_stop();
            const std::uint32_t steps = links_->tiles && links_->tiles->streams() ? 1 : steps_unseen;
            for (std::uint32_t i = 0; i < steps; ++i) {
                nodes_.step<true>(*links_, summed_wide, take_wide);
                summed_wide = take_wide;
                take_wide = stays_wide;
            }
            const step_state seen = nodes_.read();
            if (seen.halted == going::ended) return result_of(seen);
            if (seen.halted == going::widens) {
                nodes_.go_on();
                summed_wide = seen.now_wide;
                take_wide = stays_wide = true;
            }
        }
    }

  private:
    fixed_page_rank_result result_of(const step_state& seen) {
        fixed_page_rank_result result;
        result.ranks.resize(graph_.nodes);
        nodes_.ranks_to(*links_, result.ranks);
        result.iterations = seen.iterations;
        result.change = seen.change;
        result.converged = seen.converged != 0;
        result.wide_steps = seen.wide_steps;
        return result;
    }

    std::shared_ptr<cuda_rank_links> make_links(const sliced_ell_layout& layout) {
        auto made = std::make_shared<cuda_rank_links>();
        made->slots = {graph_.nodes, graph_.nodes, nullptr};
        if (params_.link_weights.empty() && !has_huge_node(graph_)) {
            try {
                made->slices.emplace(place_, graph_, layout);
                made->slots = made->slices->slots();
            } catch (const out_of_memory&) {  // NOLINT(bugprone-empty-catch): then as they stand, in tiles
            }
        }
        made->range = {0, made->slots.slots};
        bring_degrees(place_, graph_, pairs_, nodes_.spare(), *made);
        if (!made->slices) made->tiles.emplace(place_, graph_, params_.link_weights);
        return made;
    }

    cuda_place& place_;
    const link_graph_view& graph_;
    const fixed_page_rank_params& params_;
    std::uint64_t pairs_;
    rank_state nodes_;
    std::shared_ptr<const cuda_rank_links> links_;
};

}  // namespace

fixed_page_rank_result fixed_page_rank(cuda_place& place, const link_graph_view& graph,
                                       const fixed_page_rank_params& params,
                                       const sliced_ell_layout& layout) {
    if (graph.nodes == 0) return {};
    kept_rank_links<cuda_place> links;
    return iteration(place, graph, params, layout, links).run();
}
fixed_page_rank_result fixed_page_rank(cuda_place& place, const link_graph_view& graph,
                                       const fixed_page_rank_params& params) {
    return fixed_page_rank(place, graph, params, sliced_ell_layout{});
}
fixed_page_rank_result fixed_page_rank(cuda_place& place, const link_graph_view& graph,
                                       const fixed_page_rank_params& params,
                                       kept_rank_links<cuda_place>& kept, std::uint32_t /*steps*/) {
    if (graph.nodes == 0) return {};
    return iteration(place, graph, params, {}, kept).run();
}

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
    /// Offsets from 0: the range is a graph of its own, whose sources are all nodes.
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
