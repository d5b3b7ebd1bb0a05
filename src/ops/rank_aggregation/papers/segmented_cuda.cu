// SPDX-License-Identifier: Apache-2.0
// The segmented method of the Tegra K1 paper (Li, Huang and Xie), kept for comparison with ours: one stride of levels of all
// lists at a time.
// - Growing: new objects become candidates, others get their value, until the k-th lower bound w is above T.
// - Shrinking: new objects are skipped. Complete candidates become results, until none of the others, by its upper bound b,
//   can precede the k-th result.
// The levels at which both phases end are the paper's. What differs is the work of a stride:
// - The strides follow each other within a kernel whose blocks wait for each other. The paper's host looks at the k-th after
//   every stride; this one after hundreds.
// - The paper sorts all candidates by w, then by b. Here the candidates that can be the k-th are kept in a short list, and
//   counted; shrinking looks for the greatest b.
//
// A candidate is a row of values, one per list, with all bits set for missing ones; its sum is recomputed in the order of
// the lists.
#include <cooperative_groups.h>

#include <algorithm>
#include <limits>

#include "ops/rank_aggregation/ranked_table.cuh"
#include "primitives/keys.hpp"
#include "primitives/top_k/top_k.hpp"

namespace quern::rank_aggregation_detail {
namespace {

constexpr std::uint32_t no_row = ~std::uint32_t{0}, claimed = no_row - 1;
constexpr unsigned segment_threads = 1024, digits = 8, digit_values = 256;
/// The strides of one launch, and how many of them pass between two removals of candidates that are out.
constexpr unsigned launched_strides = 1024, strides_to_removal = 32;

/// Two lists of rows: one is in use, the other takes what is kept of it.
struct row_lists {
    std::uint32_t* rows[2];
    unsigned* sizes;  ///< two
};

struct search_state {
    unsigned long long depth;
    double least;  ///< growing: the k-th lower bound is not below it
    unsigned rows, results, listed[2], list_in_use, done;
};

/// Arrays by row; row_of by object. Values, bounds, and lists have `room` for rows.
struct candidate_rows {
    std::uint32_t *row_of, *ids;
    double *values, *lower_bounds;
    row_lists lists;  ///< growing: rows whose lower bound is above `least`; shrinking: candidates
    std::uint64_t room;
};

struct result_rows {
    double* scores;
    std::uint32_t* ids;
};

/// The parameters of a search. histograms: digits · digit_values zeros.
struct search_plan {
    std::uint64_t k, objects, longest;
    std::uint32_t stride;
    unsigned* histograms;
};

/// All blocks wait for each other.
__device__ void wait_for_blocks() {
    if (gridDim.x == 1)
        __syncthreads();
    else
        cooperative_groups::this_grid().sync();
}

__device__ std::uint64_t thread_of_grid() {
    return std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x;
}
__device__ std::uint64_t threads_of_grid() {
    return std::uint64_t{gridDim.x} * blockDim.x;
}

/// What other blocks wrote before the last barrier.
template <class Value>
__device__ Value current(const Value* value) {
    return *static_cast<const volatile Value*>(value);
}

/// The levels [from, to) of all lists. Entry e: level from + e / lists of list e % lists, the layout of the paper's array.
struct levels {
    std::uint64_t from, to;
};
__device__ levels next_levels(std::uint64_t depth, const search_plan& plan) {
    return {depth, depth + plan.stride < plan.longest ? depth + plan.stride : plan.longest};
}

/// visit(list, position) for all entries of the levels, a share a thread.
template <class Score, class Visit>
__device__ void visit_entries(const ranked_table<Score>& table, levels read, Visit visit) {
    const std::uint64_t entries = (read.to - read.from) * table.size;
    for (std::uint64_t e = thread_of_grid(); e < entries; e += threads_of_grid()) {
        const auto list = static_cast<unsigned>(e % table.size);
        const std::uint64_t at = read.from + e / table.size;
        if (at < table.lists[list].size) visit(list, at);
    }
}

template <class Score>
__device__ void put_value(const ranked_table<Score>& table, double* values, std::uint32_t row, unsigned list,
                          std::uint64_t at) {
    values[std::uint64_t{row} * table.size + list] = table.value(list, table.lists[list].scores[at], at + 1);
}

/// The row of an object, new if it has none: one thread claims it, others wait for its number.
__device__ std::uint32_t row_for(const candidate_rows& candidates, std::uint32_t id, search_state* state) {
    std::uint32_t row = atomicCAS(candidates.row_of + id, no_row, claimed);
    if (row == no_row) {
        row = atomicAdd(&state->rows, 1u);
        candidates.ids[row] = id;
        atomicExch(candidates.row_of + id, row);
    }
    while (row == claimed) row = current(candidates.row_of + id);
    return row;
}

template <class Score>
__device__ double lower_bound_of(const ranked_table<Score>& table, const double* values) {
    score_sum sum(table.rule);
    for (unsigned i = 0; i < table.size; ++i)
        sum.take(is_missing(values[i]) ? table.floor_value(i) : values[i]);
    return sum.score(table.weights);
}

/// What an entry below `depth` can still count, of each list.
template <class Score>
struct depth_bounds {
    double bounds[max_lists];
    bool ended[max_lists];

    /// All threads of a block.
    __device__ void set(const ranked_table<Score>& table, std::uint64_t depth) {
        __syncthreads();
        for (unsigned i = threadIdx.x; i < table.size; i += blockDim.x) {
            bounds[i] = table.bound(i, depth);
            ended[i] = table.lists[i].size <= depth;
        }
        __syncthreads();
    }
    /// T: of an object that was not seen.
    __device__ double of_unseen(const ranked_table<Score>& table) const {
        score_sum sum(table.rule);
        for (unsigned i = 0; i < table.size; ++i) sum.take(bounds[i]);
        return sum.score(table.weights);
    }
    /// b: of a candidate; its score if it is complete.
    __device__ double of_candidate(const ranked_table<Score>& table, const double* values,
                                   bool& complete) const {
        score_sum sum(table.rule);
        complete = true;
        for (unsigned i = 0; i < table.size; ++i) {
            const double value = values[i];
            const bool missing = is_missing(value);
            complete &= !missing || ended[i];
            sum.take(missing ? bounds[i] : value);
        }
        return sum.score(table.weights);
    }
};

/// All threads of a block: how many of `size` items are counted.
template <class Counted>
__device__ std::uint64_t count_in_block(std::uint64_t size, Counted counted) {
    std::uint64_t count = 0;
    for (std::uint64_t begin = 0; begin < size; begin += blockDim.x) {
        const std::uint64_t j = begin + threadIdx.x;
        count += static_cast<unsigned>(__syncthreads_count(j < size && counted(j) ? 1 : 0));
    }
    return count;
}

/// The number with these ordered_bits.
__device__ double score_of_bits(std::uint64_t bits) {
    constexpr std::uint64_t sign = std::uint64_t{1} << 63;
    const std::uint64_t stored = bits >= sign ? bits ^ sign : ((bits ^ sign) - 1) ^ ~sign;
    return __longlong_as_double(static_cast<long long>(stored));
}

/// All threads of the grid: the k-th largest of `size` >= k scores, digit by digit of their bits.
template <class ScoreOf>
__device__ double kth_score(std::uint64_t size, std::uint64_t k, unsigned* histograms, ScoreOf score_of) {
    __shared__ unsigned bins[digit_values];
    __shared__ std::uint64_t found, left;
    std::uint64_t prefix = 0;
    for (unsigned digit = digits; digit-- != 0;) {
        const unsigned shift = 8 * digit;
        unsigned* const histogram = histograms + digit * digit_values;
        for (unsigned b = threadIdx.x; b < digit_values; b += blockDim.x) bins[b] = 0;
        __syncthreads();
        for (std::uint64_t j = thread_of_grid(); j < size; j += threads_of_grid()) {
            const std::uint64_t bits = primitives::ordered_bits(score_of(j));
            if (digit + 1 == digits || bits >> (shift + 8) == prefix)
                atomicAdd(&bins[bits >> shift & 255], 1u);
        }
        __syncthreads();
        for (unsigned b = threadIdx.x; b < digit_values; b += blockDim.x)
            if (bins[b] != 0) atomicAdd(histogram + b, bins[b]);
        wait_for_blocks();
        for (unsigned b = threadIdx.x; b < digit_values; b += blockDim.x) bins[b] = current(histogram + b);
        __syncthreads();
        if (threadIdx.x == 0) {
            unsigned b = digit_values - 1;
            for (; bins[b] < k; --b) k -= bins[b];
            found = b;
            left = k;
        }
        __syncthreads();
        prefix = prefix << 8 | found;
        k = left;
        __syncthreads();
    }
    wait_for_blocks();
    for (std::uint64_t b = thread_of_grid(); b < digits * digit_values; b += threads_of_grid())
        histograms[b] = 0;
    return score_of_bits(prefix);
}

/// All threads of the grid: keeps the listed rows that `kept` says, in the other list. Returns how many.
template <class Kept>
__device__ unsigned keep_rows(const row_lists& lists, unsigned& in_use, unsigned size, Kept kept) {
    const unsigned other = 1 - in_use;
    for (std::uint64_t j = thread_of_grid(); j < size; j += threads_of_grid()) {
        const std::uint32_t row = lists.rows[in_use][j];
        if (kept(row)) lists.rows[other][atomicAdd(lists.sizes + other, 1u)] = row;
    }
    wait_for_blocks();
    if (thread_of_grid() == 0) lists.sizes[in_use] = 0;
    in_use = other;
    return current(lists.sizes + other);
}

/// Growing. Ends when the k-th lower bound is above T (done), when the lists end, before rows could exceed their room, or
/// after launched_strides. The k-th is never below state->least, so that only rows above it are counted, and if T is below
/// it, the k-th is above T. Rows rise into the list once.
template <class Score>
__global__ void __launch_bounds__(segment_threads)
    grow_kernel(ranked_table<Score> table, candidate_rows candidates, search_plan plan, search_state* state) {
    __shared__ depth_bounds<Score> bounds;
    const row_lists lists = candidates.lists;
    std::uint64_t depth = state->depth, rows = state->rows;
    double least = state->least;
    unsigned in_use = state->list_in_use;
    bool enough = false;
    for (unsigned strides = 0; strides < launched_strides && !enough && depth < plan.longest; ++strides) {
        const levels read = next_levels(depth, plan);
        const std::uint64_t possible = rows + (read.to - read.from) * table.size;
        if ((possible < plan.objects ? possible : plan.objects) > candidates.room) break;
        visit_entries(table, read, [&](unsigned list, std::uint64_t at) {
            put_value(table, candidates.values, row_for(candidates, table.lists[list].ids[at], state), list,
                      at);
        });
        wait_for_blocks();
        rows = current(&state->rows);
        visit_entries(table, read, [&](unsigned list, std::uint64_t at) {
            const std::uint32_t row = candidates.row_of[table.lists[list].ids[at]];
            const double bound = lower_bound_of(table, candidates.values + std::uint64_t{row} * table.size);
            const double before = __longlong_as_double(static_cast<long long>(
                atomicExch(reinterpret_cast<unsigned long long*>(candidates.lower_bounds + row),
                           static_cast<unsigned long long>(__double_as_longlong(bound)))));
            if (bound > least && !(before > least))  // `before` is NaN in a new row
                lists.rows[in_use][atomicAdd(lists.sizes + in_use, 1u)] = row;
        });
        wait_for_blocks();
        depth = read.to;
        unsigned listed = current(lists.sizes + in_use);
        if (listed > 2 * plan.k + 4096) {
            least = kth_score(listed, plan.k, plan.histograms, [&](std::uint64_t j) {
                return candidates.lower_bounds[lists.rows[in_use][j]];
            });
            listed = keep_rows(lists, in_use, listed,
                               [&](std::uint32_t row) { return candidates.lower_bounds[row] > least; });
        }
        bounds.set(table, depth);
        const double unseen = bounds.of_unseen(table);
        const std::uint64_t above = count_in_block(
            listed, [&](std::uint64_t j) { return candidates.lower_bounds[lists.rows[in_use][j]] > unseen; });
        enough = rows >= plan.k && (unseen < least || above >= plan.k);
    }
    if (thread_of_grid() != 0) return;
    state->depth = depth;
    state->least = least;
    state->list_in_use = in_use;
    state->done = enough ? 1 : 0;
}

__global__ void list_rows_kernel(std::uint32_t* list, unsigned rows) {
    const unsigned row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < rows) list[row] = row;
}

/// The candidate that precedes the others by its upper bound; no_row as id: none.
struct first_candidate {
    double bound;
    std::uint32_t id;

    __device__ void offer(const first_candidate& other) {
        if (other.id == no_row) return;
        if (id == no_row || precedes({other.bound, other.id}, {bound, id})) *this = other;
    }
    __device__ void offer_of_warp() {
        for (unsigned step = 16; step != 0; step /= 2)
            offer({__shfl_xor_sync(0xffffffffu, bound, step), __shfl_xor_sync(0xffffffffu, id, step)});
    }
    /// All threads of a block: the first of all.
    __device__ void offer_of_block(first_candidate* of_warps) {
        offer_of_warp();
        if (threadIdx.x % 32 == 0) of_warps[threadIdx.x / 32] = *this;
        __syncthreads();
        *this = of_warps[threadIdx.x % 32];
        offer_of_warp();
        __syncthreads();
    }
};

/// Shrinking. Ends when k results precede every candidate (done), or after launched_strides. `firsts`: one per block.
template <class Score>
__global__ void __launch_bounds__(segment_threads)
    shrink_kernel(ranked_table<Score> table, candidate_rows candidates, search_plan plan, result_rows results,
                  first_candidate* firsts, search_state* state) {
    __shared__ depth_bounds<Score> bounds;
    __shared__ first_candidate of_warps[segment_threads / 32];
    static_assert(segment_threads == 32 * 32);
    const row_lists lists = candidates.lists;
    std::uint64_t depth = state->depth;
    unsigned in_use = state->list_in_use, listed = current(lists.sizes + in_use);
    bool done = false;
    for (unsigned strides = 0; strides < launched_strides; ++strides) {
        bounds.set(table, depth);
        first_candidate first{0, no_row};
        for (std::uint64_t j = thread_of_grid(); j < listed; j += threads_of_grid()) {
            const std::uint32_t row = lists.rows[in_use][j];
            if (row == no_row) continue;
            bool complete = false;
            const double bound =
                bounds.of_candidate(table, candidates.values + std::uint64_t{row} * table.size, complete);
            if (complete) {
                const unsigned result = atomicAdd(&state->results, 1u);
                results.scores[result] = bound;
                results.ids[result] = candidates.ids[row];
                lists.rows[in_use][j] = no_row;
            } else {
                first.offer({bound, candidates.ids[row]});
            }
        }
        first.offer_of_block(of_warps);
        if (threadIdx.x == 0) firsts[blockIdx.x] = first;
        wait_for_blocks();
        const unsigned found = current(&state->results);
        first = {0, no_row};
        for (unsigned b = threadIdx.x; b < gridDim.x; b += blockDim.x)
            first.offer({current(&firsts[b].bound), current(&firsts[b].id)});
        first.offer_of_block(of_warps);
        done = depth >= plan.longest;
        if (!done && found >= plan.k)
            done = first.id == no_row ||
                   count_in_block(found, [&](std::uint64_t j) {
                       return precedes({results.scores[j], results.ids[j]}, {first.bound, first.id});
                   }) >= plan.k;
        if (done) break;
        if (strides % strides_to_removal == 0 && found >= plan.k) {
            const double kth =
                kth_score(found, plan.k, plan.histograms, [&](std::uint64_t j) { return results.scores[j]; });
            listed = keep_rows(lists, in_use, listed, [&](std::uint32_t row) {
                bool complete = false;
                return row != no_row &&
                       bounds.of_candidate(table, candidates.values + std::uint64_t{row} * table.size,
                                           complete) >= kth;
            });
        }
        const levels read = next_levels(depth, plan);
        visit_entries(table, read, [&](unsigned list, std::uint64_t at) {
            const std::uint32_t row = candidates.row_of[table.lists[list].ids[at]];
            if (row != no_row) put_value(table, candidates.values, row, list, at);
        });
        wait_for_blocks();
        depth = read.to;
    }
    if (thread_of_grid() != 0) return;
    state->depth = depth;
    state->list_in_use = in_use;
    state->done = done ? 1 : 0;
}

template <class Score>
class segments {
  public:
    segments(device_lists<Score>& lists, const scoring& rule, std::uint32_t k, std::uint32_t stride)
        : lists_(lists),
          place_(lists.place()),
          table_(table_of(lists, rule)),
          row_of_(place_, lists.objects(), "the rows of objects"),
          state_(place_, 1, "the state of a search"),
          histograms_(place_, digits * digit_values, "digits of scores"),
          plan_{k, lists.objects(), lists.longest(), stride, histograms_.data()} {
        place_.fill_bytes(row_of_.data(), 0xff, row_of_.span().size_bytes());
        place_.fill_bytes(histograms_.data(), 0, histograms_.span().size_bytes());
        search_state state{};
        state.least = -std::numeric_limits<double>::infinity();
        place_.copy_in(state_.data(), &state, sizeof state);
    }

    device_result raw_result() {
        grow();
        const search_state state = shrink();
        device_result raw_result;
        for (const auto& list : lists_.lists())
            raw_result.depths.push_back(std::min<std::uint64_t>(state.depth, list.size));
        raw_result.candidates = state.rows;
        const device_best best(place_, std::min<std::size_t>(plan_.k, state.results), 0);
        primitives::top_k<double>(place_, scores_.span().first(state.results),
                                  results_.span().first(state.results), best.scores(), best.ids());
        best.to_host(place_, raw_result);
        return raw_result;
    }

  private:
    search_state look() { return to_host(place_, state_.span())[0]; }

    /// As many blocks as there is work for, and as run at once.
    cuda::launch_shape blocks_for(std::uint64_t items) const {
        return {std::clamp(cuda::blocks_for(items, segment_threads), 1u, place_.multiprocessors()),
                segment_threads, 0, true};
    }
    std::uint64_t entries_of_stride() const {
        return table_.size * std::min<std::uint64_t>(plan_.stride, plan_.longest);
    }
    candidate_rows candidates() const {
        return {row_of_.data(),
                ids_.data(),
                values_.data(),
                lower_bounds_.data(),
                {{listed_[0].data(), listed_[1].data()}, state_.data()->listed},
                ids_.size()};
    }

    void grow() {
        search_state state{};
        while (state.done == 0 && state.depth < plan_.longest) {
            place_.ctx().check_stop();
            make_room(std::min<std::uint64_t>(state.rows + entries_of_stride(), plan_.objects), state.rows);
            QUERN_LAUNCH(place_, blocks_for(entries_of_stride()), grow_kernel<Score>, table_, candidates(),
                         plan_, state_.data());
            state = look();
        }
    }

    /// Allocates rows for that many objects.
    void make_room(std::uint64_t rows, std::uint64_t used) {
        if (rows <= ids_.size()) return;
        const std::size_t room = std::min<std::uint64_t>(
            std::max<std::uint64_t>({rows, 2 * std::uint64_t{ids_.size()}, 1u << 16}), plan_.objects);
        enlarge(ids_, used, room, "the objects of rows");
        enlarge(values_, used * table_.size, room * table_.size, "the values of rows");
        enlarge(lower_bounds_, used, room, "lower bounds");
        for (auto& list : listed_) enlarge(list, used, room, "candidates");
    }
    /// All bits of what is new are set.
    template <class Item>
    void enlarge(cuda_array<Item>& array, std::size_t used, std::size_t size, const char* what) {
        cuda_array<Item> larger(place_, size, what);
        if (used != 0) place_.copy_within(larger.data(), array.data(), used * sizeof(Item));
        place_.fill_bytes(larger.data() + used, 0xff, (size - used) * sizeof(Item));
        array = std::move(larger);
    }

    search_state shrink() {
        search_state state = look();
        QUERN_LAUNCH(place_, (cuda::launch_shape{cuda::blocks_for(state.rows, block_threads), block_threads}),
                     list_rows_kernel, listed_[0].data(), state.rows);
        state.list_in_use = 0;
        state.listed[0] = state.rows;
        state.listed[1] = 0;
        place_.copy_in(state_.data(), &state, sizeof state);
        scores_ = cuda_array<double>(place_, state.rows, "the scores of results");
        results_ = cuda_array<std::uint32_t>(place_, state.rows, "the objects of results");
        const cuda_array<first_candidate> firsts(place_, place_.multiprocessors(), "the first candidates");
        do {
            place_.ctx().check_stop();
            const std::uint64_t work =
                std::max<std::uint64_t>(entries_of_stride(), state.listed[state.list_in_use]);
            QUERN_LAUNCH(place_, blocks_for(work), shrink_kernel<Score>, table_, candidates(), plan_,
                         (result_rows{scores_.data(), results_.data()}), firsts.data(), state_.data());
            state = look();
        } while (state.done == 0);
        return state;
    }

    device_lists<Score>& lists_;
    cuda_place& place_;
    ranked_table<Score> table_;
    cuda_array<std::uint32_t> row_of_, ids_;    ///< by object; by row
    cuda_array<double> values_, lower_bounds_;  ///< by row and list; by row
    cuda_array<std::uint32_t> listed_[2];       ///< rows
    cuda_array<search_state> state_;
    cuda_array<unsigned> histograms_;
    cuda_array<double> scores_;          ///< of results
    cuda_array<std::uint32_t> results_;  ///< their objects
    search_plan plan_;
};

}  // namespace

template <class Score>
device_result segmented(device_lists<Score>& lists, const scoring& rule, std::uint32_t k,
                        std::uint32_t stride) {
    return segments<Score>(lists, rule, k, stride).raw_result();
}
template device_result segmented(device_lists<float>&, const scoring&, std::uint32_t, std::uint32_t);
template device_result segmented(device_lists<double>&, const scoring&, std::uint32_t, std::uint32_t);

}  // namespace quern::rank_aggregation_detail
