// SPDX-License-Identifier: Apache-2.0
// The segmented method of the Tegra K1 paper (Li, Huang and Xie) as published, kept for comparison with ours: one stride of
// levels of all lists at a time.
// - Growing: new objects are appended to the array of candidates, others get their value. All candidates are sorted by
//   their lower bound w, until the k-th is above T.
// - Shrinking: new objects are skipped. Once k candidates are complete they move to the results, which are ranked. The rest
//   is compacted by its upper bound b, until none can precede the k-th.
// - The paper sorts by b where this compacts: the order is only needed to find the cut.
// - Its host checks the k-th after every stride, and so does this one: that, and sorting, is the cost of small strides.
//
// A candidate is a row of values, one per list, with all bits set for missing ones; its sum is recomputed in the order of
// the lists.
#include <algorithm>

#include "ops/rank_aggregation/ranked_table.cuh"
#include "primitives/select/select.hpp"
#include "primitives/sort/sort.hpp"
#include "primitives/top_k/top_k.hpp"

namespace quern::rank_aggregation_detail {
namespace {

constexpr std::uint32_t no_row = ~std::uint32_t{0}, claimed = no_row - 1;

struct segment_state {
    unsigned rows, complete, enough;
};

/// The levels [from, to) of all lists. Thread e: level from + e / lists of list e % lists, the layout of the paper's array.
struct levels {
    std::uint64_t from, to;
};
template <class Score>
__device__ bool entry_of(const ranked_table<Score>& table, levels read, unsigned& list, std::uint64_t& at) {
    const std::uint64_t e = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x;
    list = static_cast<unsigned>(e % table.size);
    at = read.from + e / table.size;
    return at < read.to && at < table.lists[list].size;
}

/// Appends the objects without a row. The one thread that claims an object gives it the next row.
template <class Score>
__global__ void append_objects_kernel(ranked_table<Score> table, levels read, std::uint32_t* row_of,
                                      std::uint32_t* ids, segment_state* state) {
    unsigned list;
    std::uint64_t at;
    if (!entry_of(table, read, list, at)) return;
    const std::uint32_t id = table.lists[list].ids[at];
    if (atomicCAS(row_of + id, no_row, claimed) != no_row) return;
    const unsigned row = atomicAdd(&state->rows, 1u);
    ids[row] = id;
    row_of[id] = row;
}

/// Writes the values of the objects that have a row.
template <class Score>
__global__ void put_values_kernel(ranked_table<Score> table, levels read, const std::uint32_t* row_of,
                                  double* values) {
    unsigned list;
    std::uint64_t at;
    if (!entry_of(table, read, list, at)) return;
    const std::uint32_t row = row_of[table.lists[list].ids[at]];
    if (row != no_row)
        values[std::uint64_t{row} * table.size + list] =
            table.value(list, table.lists[list].scores[at], at + 1);
}

/// One thread per row: w, and the row's number to sort with it.
template <class Score>
__global__ void lower_bounds_kernel(ranked_table<Score> table, const double* values, unsigned rows,
                                    double* bounds, std::uint32_t* numbers) {
    const unsigned row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    score_sum sum(table.rule);
    for (unsigned i = 0; i < table.size; ++i) {
        const double value = values[std::uint64_t{row} * table.size + i];
        sum.take(is_missing(value) ? table.floor_value(i) : value);
    }
    bounds[row] = sum.score(table.weights);
    numbers[row] = row;
}

/// One thread: whether the k-th of the sorted lower bounds is above T.
template <class Score>
__global__ void compare_kernel(ranked_table<Score> table, std::uint64_t depth, const double* bounds,
                               std::uint64_t k, segment_state* state) {
    score_sum sum(table.rule);
    for (unsigned i = 0; i < table.size; ++i) sum.take(table.bound(i, depth));
    state->enough = state->rows >= k && bounds[k - 1] > sum.score(table.weights) ? 1 : 0;
}

/// One thread per candidate: its upper bound at this depth, equal to its score if it is complete; and whether it is.
template <class Score>
__global__ void upper_bounds_kernel(ranked_table<Score> table, const double* values,
                                    const std::uint32_t* candidates, unsigned count, std::uint64_t depth,
                                    double* bounds, std::uint8_t* complete, segment_state* state) {
    const unsigned c = blockIdx.x * blockDim.x + threadIdx.x;
    if (c >= count) return;
    score_sum sum(table.rule);
    bool all = true;
    for (unsigned i = 0; i < table.size; ++i) {
        const double value = values[std::uint64_t{candidates[c]} * table.size + i];
        const bool missing = is_missing(value);
        all &= !missing || table.lists[i].size <= depth;
        sum.take(missing ? table.bound(i, depth) : value);
    }
    bounds[c] = sum.score(table.weights);
    complete[c] = all ? 1 : 0;
    if (all) atomicAdd(&state->complete, 1u);
}

/// One thread per candidate: whether it stays one, being incomplete and not after the k-th result.
__global__ void undecided_candidates_kernel(const double* bounds, const std::uint32_t* candidates,
                                            const std::uint32_t* ids, unsigned count,
                                            const double* last_score, const std::uint32_t* last_id,
                                            const std::uint8_t* complete, std::uint8_t* undecided) {
    const unsigned c = blockIdx.x * blockDim.x + threadIdx.x;
    if (c >= count) return;
    undecided[c] =
        complete[c] == 0 && !precedes({*last_score, *last_id}, {bounds[c], ids[candidates[c]]}) ? 1 : 0;
}

__global__ void gather_ids_kernel(const std::uint32_t* rows, const std::uint32_t* ids, unsigned count,
                                  std::uint32_t* gathered) {
    const unsigned c = blockIdx.x * blockDim.x + threadIdx.x;
    if (c < count) gathered[c] = ids[rows[c]];
}

cuda::launch_shape one_each(std::uint64_t count) {
    return {cuda::blocks_for(count, block_threads), block_threads};
}

template <class Score>
class segments {
  public:
    segments(device_lists<Score>& lists, const scoring& rule, std::uint32_t k, std::uint32_t stride)
        : lists_(lists),
          place_(lists.place()),
          table_(table_of(lists, rule)),
          k_(k),
          stride_(stride),
          row_of_(place_, lists.objects(), "the rows of objects"),
          state_(place_, 1, "the state of a search") {
        place_.fill_bytes(row_of_.data(), 0xff, row_of_.span().size_bytes());
        place_.fill_bytes(state_.data(), 0, sizeof(segment_state));
    }

    device_result raw_result() {
        grow();
        shrink();
        device_result raw_result;
        raw_result.scores = to_host(place_, best_scores_.span());
        raw_result.ids = to_host(place_, best_ids_.span());
        for (const auto& list : lists_.lists()) raw_result.depths.push_back(std::min(depth_, list.size));
        raw_result.candidates = rows_;
        return raw_result;
    }

  private:
    bool ended() const { return depth_ >= lists_.longest(); }

    /// The next levels to read.
    levels next_levels() {
        place_.ctx().check_stop();
        const levels read{depth_, std::min<std::uint64_t>(depth_ + stride_, lists_.longest())};
        depth_ = read.to;
        return read;
    }
    segment_state look() { return to_host(place_, state_.span())[0]; }

    void grow() {
        bool enough = false;
        while (!enough && !ended()) {
            const levels read = next_levels();
            const std::uint64_t entries = (read.to - read.from) * table_.size;
            make_room(std::min<std::uint64_t>(rows_ + entries, lists_.objects()));
            QUERN_LAUNCH(place_, one_each(entries), append_objects_kernel<Score>, table_, read,
                         row_of_.data(), ids_.data(), state_.data());
            QUERN_LAUNCH(place_, one_each(entries), put_values_kernel<Score>, table_, read, row_of_.data(),
                         values_.data());
            rows_ = look().rows;
            if (rows_ < k_) continue;
            const cuda_array<double> bounds(place_, rows_, "lower bounds");
            const cuda_array<std::uint32_t> numbers(place_, rows_, "candidates");
            QUERN_LAUNCH(place_, one_each(rows_), lower_bounds_kernel<Score>, table_, values_.data(), rows_,
                         bounds.data(), numbers.data());
            primitives::sort_pairs(place_, bounds.span(), numbers.span(),
                                   {.direction = primitives::order::descending});
            QUERN_LAUNCH(place_, (cuda::launch_shape{1, 1}), compare_kernel<Score>, table_, depth_,
                         bounds.data(), k_, state_.data());
            enough = look().enough != 0;
        }
    }

    /// Allocates rows for that many objects.
    void make_room(std::uint64_t rows) {
        if (rows <= ids_.size()) return;
        const std::size_t lists = table_.size, before = ids_.size();
        const std::size_t now =
            std::min<std::uint64_t>(std::max<std::uint64_t>({rows, 2 * before, 4096}), lists_.objects());
        cuda_array<std::uint32_t> ids(place_, now, "the objects of rows");
        cuda_array<double> values(place_, now * lists, "the values of rows");
        if (before != 0) {
            place_.copy_within(ids.data(), ids_.data(), before * sizeof(std::uint32_t));
            place_.copy_within(values.data(), values_.data(), before * lists * sizeof(double));
        }
        place_.fill_bytes(values.data() + before * lists, 0xff, (now - before) * lists * sizeof(double));
        ids_ = std::move(ids);
        values_ = std::move(values);
    }

    void shrink() {
        candidates_ = cuda_array<std::uint32_t>(place_, rows_, "candidates");
        cuda_array<double> bounds(place_, rows_, "upper bounds");
        const cuda_array<std::uint8_t> complete(place_, rows_, "which candidates are complete");
        QUERN_LAUNCH(place_, one_each(rows_), lower_bounds_kernel<Score>, table_, values_.data(), rows_,
                     bounds.data(), candidates_.data());
        count_ = rows_;
        for (;;) {
            place_.fill_bytes(&state_.data()->complete, 0, sizeof(unsigned));
            QUERN_LAUNCH(place_, one_each(count_), upper_bounds_kernel<Score>, table_, values_.data(),
                         candidates_.data(), count_, depth_, bounds.data(), complete.data(), state_.data());
            const unsigned now = look().complete;
            if (best_ids_.size() + now >= k_ || ended()) {
                move_complete(bounds, complete.span().first(count_), now);
                if (count_ == 0 || ended()) return;
            }
            const levels read = next_levels();
            QUERN_LAUNCH(place_, one_each((read.to - read.from) * table_.size), put_values_kernel<Score>,
                         table_, read, row_of_.data(), values_.data());
        }
    }

    /// Scores in the type that compaction takes.
    static device_span<std::uint64_t> words_of(const cuda_array<double>& scores) {
        return {reinterpret_cast<std::uint64_t*>(scores.data()), scores.size()};
    }

    /// Moves complete candidates to the results, keeps the k best of these and drops the rest.
    void move_complete(const cuda_array<double>& bounds, device_span<const std::uint8_t> complete,
                       unsigned now) {
        const std::size_t before = best_ids_.size(), all = before + now;
        const cuda_array<double> scores(place_, all, "the scores of results");
        const cuda_array<std::uint32_t> ids(place_, all, "the objects of results"),
            rows(place_, now, "results");
        place_.copy_within(scores.data(), best_scores_.data(), before * sizeof(double));
        place_.copy_within(ids.data(), best_ids_.data(), before * sizeof(std::uint32_t));
        primitives::compact<std::uint64_t>(place_, words_of(bounds).first(count_), complete,
                                           words_of(scores).subspan(before));
        primitives::compact<std::uint32_t>(place_, candidates_.span().first(count_), complete, rows.span());
        QUERN_LAUNCH(place_, one_each(now), gather_ids_kernel, rows.data(), ids_.data(), now,
                     ids.data() + before);
        const std::size_t kept = std::min<std::size_t>(k_, all);
        best_scores_ = cuda_array<double>(place_, kept, "the best scores");
        best_ids_ = cuda_array<std::uint32_t>(place_, kept, "the best objects");
        primitives::top_k<double>(place_, scores.span(), ids.span(), best_scores_.span(), best_ids_.span());
        if (ended() || kept == 0) return;
        const cuda_array<std::uint8_t> undecided(place_, count_, "which candidates are open");
        QUERN_LAUNCH(place_, one_each(count_), undecided_candidates_kernel, bounds.data(), candidates_.data(),
                     ids_.data(), count_, best_scores_.data() + kept - 1, best_ids_.data() + kept - 1,
                     complete.data(), undecided.data());
        cuda_array<std::uint32_t> left(place_, count_, "candidates");
        count_ = static_cast<unsigned>(primitives::compact<std::uint32_t>(
            place_, candidates_.span().first(count_), undecided.span(), left.span()));
        candidates_ = std::move(left);
    }

    device_lists<Score>& lists_;
    cuda_place& place_;
    ranked_table<Score> table_;
    std::uint32_t k_, stride_;
    std::uint64_t depth_ = 0;
    unsigned rows_ = 0, count_ = 0;
    cuda_array<std::uint32_t> row_of_, ids_;  ///< by object; by row
    cuda_array<double> values_;               ///< by row and list
    cuda_array<segment_state> state_;
    cuda_array<std::uint32_t> candidates_;  ///< rows, count_ of them
    cuda_array<double> best_scores_;
    cuda_array<std::uint32_t> best_ids_;
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
