// SPDX-License-Identifier: Apache-2.0
// The integer iteration on a GPU. A step is two kernels: sums over the links (link_slices.cuh; link_tiles.cuh where links
// have weights or do not fit), and one pass over the nodes that spreads the step, measures it and takes for the next. The
// last block of a pass decides how things go on, so that steps follow each other without the host, which looks after
// every few: what is enqueued behind the end does nothing.
#include <algorithm>
#include <cstddef>
#include <optional>
#include <type_traits>

#include "device/cuda/check.cuh"
#include "ops/link_rank/fixed_arithmetic.hpp"
#include "ops/link_rank/fixed_page_rank.hpp"
#include "ops/link_rank/link_slices.cuh"
#include "ops/link_rank/link_tiles.cuh"
#include "ops/link_rank/node_values.cuh"

namespace quern::link_rank_detail {
namespace {

using cuda::launch_shape;

constexpr unsigned block_threads = 256;
constexpr std::uint32_t steps_unseen = 8;             // of the host: enqueued together
constexpr std::uint64_t no_node = ~std::uint64_t{0};  // in place of a degree: nobody's slot

/// What nodes send: 32 bits, 64 bits, or all they have, to be weighed.
enum class sending : std::uint8_t { narrow, wide, weighted };

enum class going : std::uint32_t {
    on = 0,
    ended,
    widens,  ///< the next pass must take wide, which the host has to enqueue
};

/// What a pass adds up over its nodes.
struct totals {
    std::uint64_t change, greatest, stayed, lost;
};

/// How the iteration stands. In device memory; written by the last block of a pass.
struct step_state {
    going halted = going::on;
    std::uint32_t iterations = 0, wide_steps = 0, converged = 0;
    std::uint64_t change = 0, before = ~std::uint64_t{0}, before_that = ~std::uint64_t{0};
    unsigned now_shift = 0, next_shift = 0;  ///< of what has been taken; of the next take
    bool now_wide = true, next_wide = true, stays_wide = false;
    std::int64_t each = 0, preferred = 0;  ///< of what was lost: to each node; by preference
    even_shares even;
    totals sum{};  ///< of the pass under way
    unsigned blocks_done = 0;
};

struct constants {
    std::uint64_t alpha, tolerance;
    std::uint32_t max_iterations, nodes;
    unsigned contribution_digits;
    dangling_rule dangling;
};

/// Arrays by slots, two slots a thread. Behind the nodes, and in slots without one, `degrees` are no_node.
struct node_arrays {
    std::uint64_t pairs;
    const ulonglong2* degrees;
    longlong2 *ranks, *residuals;
    ulonglong2 *low, *high;  ///< sums over links; high: weighted
    int2* narrow;            ///< what is sent: one of the two
    longlong2* wide;
    const longlong2* teleport;     ///< null: teleport_each
    const ulonglong2* preference;  ///< null: none
    const longlong2* start;        ///< null: start_each
    std::int64_t teleport_each, start_each;
};

/// Adds a block's totals to the state; true for the one thread that did so last of all blocks, which sees them all.
__device__ bool add_totals(step_state* state, totals mine) {
    __shared__ totals of_warps[block_threads / 32];
    const auto fold = [](totals a, const totals& b) {
        return totals{a.change + b.change, max(a.greatest, b.greatest), a.stayed + b.stayed, a.lost + b.lost};
    };
    for (unsigned d = 16; d != 0; d /= 2) {
        mine = fold(mine, {__shfl_down_sync(~0u, mine.change, d), __shfl_down_sync(~0u, mine.greatest, d),
                           __shfl_down_sync(~0u, mine.stayed, d), __shfl_down_sync(~0u, mine.lost, d)});
    }
    if (threadIdx.x % 32 == 0) of_warps[threadIdx.x / 32] = mine;
    __syncthreads();
    if (threadIdx.x != 0) return false;
    for (unsigned w = 1; w < block_threads / 32; ++w) mine = fold(mine, of_warps[w]);
    const auto word = [](std::uint64_t& value) { return reinterpret_cast<unsigned long long*>(&value); };
    atomicAdd(word(state->sum.change), static_cast<unsigned long long>(mine.change));
    atomicMax(word(state->sum.greatest), static_cast<unsigned long long>(mine.greatest));
    atomicAdd(word(state->sum.stayed), static_cast<unsigned long long>(mine.stayed));
    atomicAdd(word(state->sum.lost), static_cast<unsigned long long>(mine.lost));
    __threadfence();
    if (atomicAdd(&state->blocks_done, 1u) + 1 != gridDim.x) return false;
    __threadfence();
    return true;
}

/// The sums of all blocks, which are zeroed for the next pass. By the last thread.
__device__ totals collect_totals(step_state* state) {
    volatile totals& sum = state->sum;  // others' atomics wrote it
    const totals all{sum.change, sum.greatest, sum.stayed, sum.lost};
    state->sum = {};
    state->blocks_done = 0;
    return all;
}

__device__ void share_lost(step_state* state, const constants& question, std::uint64_t lost) {
    const std::int64_t share = times_fraction(question.alpha, static_cast<std::int64_t>(lost));
    state->each = question.dangling == dangling_rule::uniform ? state->even.next(share, question.nodes) : 0;
    state->preferred = question.dangling == dangling_rule::preference ? share : 0;
}

/// After the pass that spread and measured a step and took for the next. By the last thread.
__device__ void turn(step_state* state, const constants& question, bool weighted) {
    const totals all = collect_totals(state);
    ++state->iterations;
    if (state->now_wide && !weighted) ++state->wide_steps;
    state->change = all.change;
    state->converged = all.change < question.tolerance ? 1 : 0;
    const bool stuck =
        state->iterations >= 3 && all.change >= state->before && state->before >= state->before_that;
    if (state->converged != 0 || state->iterations == question.max_iterations || stuck) {
        state->halted = going::ended;
        return;
    }
    state->before_that = state->before;
    state->before = all.change;
    share_lost(state, question, all.lost);
    if (weighted) return;
    state->now_wide = state->next_wide;
    state->now_shift = state->next_shift;
    const unsigned shift = shift_for(all.greatest, question.contribution_digits);
    const bool clamped = shift > state->next_shift;
    if (!state->stays_wide && state->next_shift > 0 && !clamped && all.stayed > all.change / 16) {
        state->stays_wide = true;
        state->halted = going::widens;
    }
    state->next_wide = state->stays_wide;
    state->next_shift = state->stays_wide ? 0 : shift;
}

template <sending Next>
struct sent_of {
    using type = std::int64_t;
    static constexpr bool weighted = Next == sending::weighted;
    static __device__ std::int64_t contribution(std::int64_t amount, double divisor) {
        return wide_contribution(amount, divisor);
    }
};
template <>
struct sent_of<sending::narrow> {
    using type = std::int32_t;
    static constexpr bool weighted = false;
    static __device__ std::int32_t contribution(std::int64_t amount, double divisor) {
        return narrow_contribution(amount, divisor);
    }
};

/// What a node sends of `amount`; what is taken for it is lost, or returned in `taken_part`.
template <sending Next>
__device__ __forceinline__ typename sent_of<Next>::type take(std::int64_t amount, std::uint64_t degree,
                                                             unsigned shift, std::int64_t& taken_part,
                                                             totals& sum) {
    taken_part = amount;
    if (degree == 0) {
        sum.lost += static_cast<std::uint64_t>(amount);
        return 0;
    }
    if constexpr (sent_of<Next>::weighted) {
        return amount;
    } else {
        const double divisor = static_cast<double>(degree) * static_cast<double>(std::uint64_t{1} << shift);
        const auto each = sent_of<Next>::contribution(amount, divisor);
        taken_part = taken(each, degree, shift);
        return each;
    }
}

/// Ranks and residuals as they begin; takes `start` for the first step. Sums of links become 0.
template <sending Next>
__global__ void __launch_bounds__(block_threads)
    begin_kernel(node_arrays nodes, constants question, step_state* state) {
    cudaGridDependencySynchronize();
    totals sum{};
    const auto of_node = [&](std::int64_t start, std::uint64_t degree, auto& residual, auto& sent) {
        sent = 0;
        if (degree == no_node) return;
        std::int64_t taken_part;
        sent = take<Next>(start, degree, 0, taken_part, sum);
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
        longlong2 sent;
        of_node(start.x, degree.x, residual.x, sent.x);
        of_node(start.y, degree.y, residual.y, sent.y);
        nodes.residuals[p] = residual;
        nodes.wide[p] = sent;
        nodes.low[p] = {};
        if constexpr (sent_of<Next>::weighted) nodes.high[p] = {};
    }
    if (add_totals(state, sum)) share_lost(state, question, collect_totals(state).lost);
}

/// Spreads and measures a step, and takes for the next. Two slots a thread, 16 bytes an array; as many blocks as run at
/// once.
template <sending Next>
__global__ void __launch_bounds__(block_threads, 4)
    step_kernel(node_arrays nodes, constants question, step_state* state) {
    cudaGridDependencySynchronize();
    if (state->halted != going::on) return;
    const unsigned now_shift = state->now_shift, next_shift = state->next_shift;
    const std::int64_t each = state->each, preferred = state->preferred;
    totals sum{};
    const auto of_node = [&](std::uint64_t degree, std::uint64_t low, std::uint64_t high,
                             std::uint64_t preference, auto& rank, auto& residual, auto& sent) {
        sent = 0;
        if (degree == no_node) return;
        std::int64_t along_links;
        if constexpr (sent_of<Next>::weighted)
            along_links =
                rounded_products(static_cast<wide_integer>(static_cast<wide_natural>(high) << 64 | low));
        else
            along_links = static_cast<std::int64_t>(low << now_shift);
        std::int64_t gain = times_fraction(question.alpha, along_links) + each;
        if (preferred != 0) gain += times_fraction(preference, preferred);
        rank += gain;
        const std::int64_t moved = residual + gain;
        sum.change += magnitude(moved);
        if (degree != 0) sum.greatest = max(sum.greatest, size_a_link(moved, degree));
        std::int64_t taken_part;
        sent = take<Next>(moved, degree, next_shift, taken_part, sum);
        residual = moved - taken_part;
        sum.stayed += magnitude(residual);
    };
    for (std::uint64_t p = std::uint64_t{blockIdx.x} * block_threads + threadIdx.x; p < nodes.pairs;
         p += std::uint64_t{gridDim.x} * block_threads) {
        const ulonglong2 degree = nodes.degrees[p], low = nodes.low[p];
        ulonglong2 high{}, preference{};
        if constexpr (sent_of<Next>::weighted) high = nodes.high[p];
        if (preferred != 0) preference = nodes.preference[p];
        longlong2 rank = nodes.ranks[p], residual = nodes.residuals[p];
        std::conditional_t<Next == sending::narrow, int2, longlong2> sent;
        of_node(degree.x, low.x, high.x, preference.x, rank.x, residual.x, sent.x);
        of_node(degree.y, low.y, high.y, preference.y, rank.y, residual.y, sent.y);
        nodes.ranks[p] = rank;
        nodes.residuals[p] = residual;
        nodes.low[p] = {};
        if constexpr (sent_of<Next>::weighted) nodes.high[p] = {};
        if constexpr (Next == sending::narrow)
            nodes.narrow[p] = sent;
        else
            nodes.wide[p] = sent;
    }
    if (add_totals(state, sum)) turn(state, question, sent_of<Next>::weighted);
}

class iteration {
  public:
    iteration(cuda_place& place, const link_graph_view& graph, const fixed_question& question,
              const slice_layout& layout)
        : place_(place),
          graph_(graph),
          question_(question),
          weighted_(!question.link_weights.empty()),
          pairs_((std::uint64_t{graph.nodes} + most_hot_groups + 4) / 2),  // three more may be read
          state_(place, 1),
          degrees_(place, 2 * pairs_, "out-degrees"),
          ranks_(place, 2 * pairs_, "the ranks"),
          residuals_(place, 2 * pairs_, "the residuals"),
          low_(place, 2 * pairs_, "sums of links"),
          high_(place, weighted_ ? 2 * pairs_ : 0, "sums of links"),
          narrow_(place, weighted_ ? 0 : 2 * pairs_, "what nodes send"),
          wide_(place, 2 * pairs_, "what nodes send"),
          teleport_(place, question.teleport.empty() ? 0 : 2 * pairs_, "the preference"),
          preference_(place, question.preference.empty() ? 0 : 2 * pairs_, "the preference"),
          start_(place, question.start.empty() ? 0 : 2 * pairs_, "ranks to begin with"),
          slots_{graph.nodes, graph.nodes, nullptr} {
        if (!weighted_ && !has_huge_node()) {
            try {
                slices_.emplace(place_, graph_, layout);
                slots_ = slices_->slots();
            } catch (const out_of_memory&) {  // NOLINT(bugprone-empty-catch): then as they stand, in tiles
            }
        }
        bring_nodes();
        if (!slices_) tiles_.emplace(place_, graph_, question_.link_weights);
    }

    fixed_answer run() {
        begin();
        // Links are summed as the step was taken, and the next one is taken as the state says: wide twice at first, and
        // from where narrow ones round too much.
        bool summed_wide = true, take_wide = true, stays_wide = weighted_;
        for (step_state seen;;) {
            place_.run().check_stop();
            const std::uint32_t steps = tiles_ && tiles_->streams() ? 1 : steps_unseen;
            for (std::uint32_t i = 0; i < steps; ++i) {
                step(summed_wide, take_wide);
                summed_wide = take_wide;
                take_wide = stays_wide;
            }
            place_.copy_out(&seen, state_.data(), sizeof seen);
            if (seen.halted == going::ended) return answer_of(seen);
            if (seen.halted == going::widens) {
                place_.fill_bytes(&state_.data()->halted, 0, sizeof(going));
                summed_wide = seen.now_wide;
                take_wide = stays_wide = true;
            }
        }
    }

  private:
    fixed_answer answer_of(const step_state& seen) {
        fixed_answer answer;
        answer.ranks = values_of_nodes(place_, slots_, ranks_, low_);
        answer.iterations = seen.iterations;
        answer.change = seen.change;
        answer.converged = seen.converged != 0;
        answer.wide_steps = seen.wide_steps;
        return answer;
    }

    /// Whether links to one node are more than 32 bits count.
    bool has_huge_node() const {
        if (graph_.sources.size() >> 32 == 0) return false;
        for (std::size_t v = 0; v < graph_.nodes; ++v)
            if ((graph_.offsets[v + 1] - graph_.offsets[v]) >> 32 != 0) return true;
        return false;
    }

    /// What is known of each node, by slots.
    void bring_nodes() {
        place_.fill_bytes(degrees_.data(), 0xff, degrees_.span().size_bytes());
        to_slots(place_, slots_, graph_.out_degrees, degrees_, low_);
        const auto bring = [&](const auto& values, const auto& array) {
            if (values.empty()) return;
            place_.fill_bytes(array.data(), 0, array.span().size_bytes());
            to_slots(place_, slots_, values, array, low_);
        };
        bring(question_.teleport, teleport_);
        bring(question_.preference, preference_);
        bring(question_.start, start_);
    }

    node_arrays arrays() const {
        const auto two = []<class T>(const cuda_array<T>& array) {
            if constexpr (std::is_same_v<T, std::int32_t>)
                return reinterpret_cast<int2*>(array.data());
            else if constexpr (std::is_same_v<T, std::int64_t>)
                return reinterpret_cast<longlong2*>(array.data());
            else
                return reinterpret_cast<ulonglong2*>(array.data());
        };
        return {pairs_,
                two(degrees_),
                two(ranks_),
                two(residuals_),
                two(low_),
                two(high_),
                two(narrow_),
                two(wide_),
                two(teleport_),
                two(preference_),
                two(start_),
                question_.teleport_each,
                question_.start_each};
    }
    constants asked() const {
        return {question_.alpha, question_.tolerance,           question_.max_iterations,
                graph_.nodes,    question_.contribution_digits, question_.dangling};
    }
    void begin() {
        const step_state first;
        place_.copy_in(state_.data(), &first, sizeof first);
        if (weighted_)
            launch(begin_kernel<sending::weighted>);
        else
            launch(begin_kernel<sending::wide>);
    }
    void step(bool summed_wide, bool take_wide) {
        add_links(summed_wide);
        if (weighted_)
            launch(step_kernel<sending::weighted>);
        else if (take_wide)
            launch(step_kernel<sending::wide>);
        else
            launch(step_kernel<sending::narrow>);
    }
    void add_links(bool wide) {
        const auto* halted = reinterpret_cast<const std::uint32_t*>(&state_.data()->halted);
        if (weighted_)
            tiles_->add_weighted(place_, wide_.data(), low_.data(), high_.data(), halted);
        else if (slices_ && wide)
            slices_->add(place_, wide_.data(), low_.data(), halted);
        else if (slices_)
            slices_->add(place_, narrow_.data(), low_.data(), halted);
        else if (wide)
            tiles_->add(place_, wide_.data(), low_.data(), halted);
        else
            tiles_->add(place_, narrow_.data(), low_.data(), halted);
    }
    void launch(void (*kernel)(node_arrays, constants, step_state*)) {
        const unsigned blocks = cuda::blocks_for(pairs_, block_threads);
        QUERN_LAUNCH(
            place_,
            (launch_shape{std::min(blocks, 4 * place_.multiprocessors()), block_threads, 0, false, true}),
            kernel, arrays(), asked(), state_.data());
    }

    cuda_place& place_;
    const link_graph_view& graph_;
    const fixed_question& question_;
    bool weighted_;
    std::uint64_t pairs_;
    cuda_array<step_state> state_;
    cuda_array<std::uint64_t> degrees_;
    cuda_array<std::int64_t> ranks_, residuals_;
    cuda_array<std::uint64_t> low_, high_;
    cuda_array<std::int32_t> narrow_;
    cuda_array<std::int64_t> wide_;
    cuda_array<std::int64_t> teleport_;
    cuda_array<std::uint64_t> preference_;
    cuda_array<std::int64_t> start_;
    node_slots slots_;
    std::optional<link_slices> slices_;  ///< one of the two
    std::optional<link_tiles> tiles_;
};

}  // namespace

fixed_answer fixed_page_rank(cuda_place& place, const link_graph_view& graph, const fixed_question& question,
                             const slice_layout& layout) {
    if (graph.nodes == 0) return {};
    return iteration(place, graph, question, layout).run();
}
fixed_answer fixed_page_rank(cuda_place& place, const link_graph_view& graph,
                             const fixed_question& question) {
    return fixed_page_rank(place, graph, question, {});
}

}  // namespace quern::link_rank_detail
