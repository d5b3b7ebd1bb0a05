// SPDX-License-Identifier: Apache-2.0
// Converts lists to columns (columns_cuda.cu): a score for each object and list. Then all columns are read in parallel,
// once; each thread sums its objects in the order of the lists, and the best are selected. Columns stay with the lists: the
// next reading of everything streams them. Reciprocal ranks have columns of ranks.
//
// If memory does not hold columns of all objects, ranges of objects are processed in turn.
#include <algorithm>

#include "ops/rank_aggregation/ranked_table.cuh"
#include "primitives/select/select.hpp"
#include "primitives/top_k/top_k.hpp"
#include "quern/base/error.hpp"

namespace quern::rank_aggregation_detail {
namespace {

constexpr std::uint32_t no_rank = ~std::uint32_t{0};
// With fewer objects, columns of scores are as fast; with more results, too many candidates remain.
constexpr std::uint32_t worth_windows = 1u << 24, objects_a_result = 1u << 14;

template <class Cell>
__device__ bool is_present(Cell cell) {
    if constexpr (std::is_same_v<Cell, std::uint32_t>)
        return cell != no_rank;
    else
        return cell == cell;
}

/// One thread per object: its score, and, if `flags` is given, whether it is in a list. Rule is the table's.
template <class Score, class Cell, aggregate Rule>
__global__ void score_objects_kernel(ranked_table<Score> table, const Cell* cells, object_range range,
                                     double* scores, std::uint8_t* flags) {
    __shared__ double weights[max_lists], floors[max_lists];
    for (unsigned i = threadIdx.x; i < table.size; i += blockDim.x) {
        weights[i] = table.lists[i].weight;
        floors[i] = table.floor_value(i);
    }
    __syncthreads();
    const std::uint64_t o = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x;
    if (o >= range.size) return;
    score_sum sum(Rule);  // the compiler propagates it
    bool in_some = false;
#pragma unroll 4
    for (unsigned i = 0; i < table.size; ++i) {
        const Cell cell = cells[std::uint64_t{i} * range.size + o];
        const bool present = is_present(cell);
        in_some |= present;
        double value = 0;
        if constexpr (Rule == aggregate::rrf)
            value = value_of(Rule, weights[i], table.constant, 0, cell);
        else
            value = weights[i] * static_cast<double>(cell);
        sum.take(present ? value : floors[i]);
    }
    scores[o] = sum.score(table.weights);
    if (flags != nullptr) flags[o] = in_some ? 1 : 0;
}

/// One thread per chosen object.
__global__ void gather_scores_kernel(const double* scores, std::uint32_t* ids, std::size_t count,
                                     std::uint32_t first, double* gathered) {
    const std::size_t j = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
    if (j >= count) return;
    gathered[j] = scores[ids[j]];
    ids[j] += first;
}

template <class Score, class Cell>
class everything {
  public:
    everything(device_lists<Score>& lists, const scoring& rule, std::uint32_t k)
        : lists_(lists), place_(lists.place()), table_(table_of(lists, rule)), k_(k) {}

    device_result raw_result() {
        device_result raw_result;
        for (const auto& list : lists_.lists()) raw_result.depths.push_back(list.size);
        const std::uint32_t objects = lists_.objects();
        raw_result.candidates = objects;
        if (objects == 0) return raw_result;
        score_columns& columns = lists_.columns();
        const bool kept = columns.made && columns.ranks == ranks;
        if (!kept) {
            const bool tied = columns.tied;
            columns = {};
            columns.tied = tied;
        }
        const std::uint32_t at_once = kept ? objects : objects_at_once();
        if (at_once == objects) {
            if (!kept) make_columns(columns);
            best_of(reinterpret_cast<const Cell*>(columns.cells.data()), {0, objects});
        } else {
            const cuda_array<std::byte> cells(place_, cells_of(at_once) * sizeof(Cell), "columns of scores");
            for (std::uint64_t first = 0; first < objects; first += at_once) {
                place_.ctx().check_stop();
                const object_range range{
                    static_cast<std::uint32_t>(first),
                    static_cast<std::uint32_t>(std::min<std::uint64_t>(at_once, objects - first))};
                fill_columns(lists_, range, reinterpret_cast<Cell*>(cells.data()), range.size);
                best_of(reinterpret_cast<const Cell*>(cells.data()), range);
            }
        }
        hand_out(raw_result);
        return raw_result;
    }

  private:
    static constexpr bool ranks = std::is_same_v<Cell, std::uint32_t>;

    std::size_t cells_of(std::uint32_t objects) const { return lists_.size() * objects; }

    /// Besides the cells, an object takes its score and a flag; a second score and an id if it is in a list; twice as much
    /// while the best are sorted, and once more if it is one of them. Filling takes less, and happens before all that.
    std::uint32_t objects_at_once() const {
        constexpr std::uint64_t pair = sizeof(double) + sizeof(std::uint32_t);
        static_assert(extra_bytes<Cell> < 4 * pair);
        const std::uint64_t bytes = lists_.size() * sizeof(Cell) + sizeof(double) + 1 + 4 * pair;
        const std::uint64_t left = place_.memory().left();
        const std::uint64_t all = bytes * lists_.objects();
        if (all <= left - left / 4) return lists_.objects();
        const std::uint64_t some = (left - left / 4) / bytes;
        if (some < 1024) throw out_of_memory("columns of scores", all, left);
        return static_cast<std::uint32_t>(some);
    }

    void make_columns(score_columns& columns) {
        columns.cells =
            cuda_array<std::byte>(place_, cells_of(lists_.objects()) * sizeof(Cell), "columns of scores");
        columns.ranks = ranks;
        fill_columns(lists_, {0, lists_.objects()}, reinterpret_cast<Cell*>(columns.cells.data()),
                     lists_.objects());
        columns.made = true;
    }

    void best_of(const Cell* cells, object_range range) {
        const bool all = lists_.all_in_one() && range.size == lists_.objects();
        const cuda_array<double> scores(place_, range.size, "the scores of objects");
        const cuda_array<std::uint8_t> flags(place_, all ? 0 : range.size, "which objects are in a list");
        const auto score = [&](auto kernel) {
            QUERN_LAUNCH(place_,
                         (cuda::launch_shape{cuda::blocks_for(range.size, block_threads), block_threads}),
                         kernel, table_, cells, range, scores.data(), flags.data());
        };
        if constexpr (ranks) {
            score(score_objects_kernel<Score, Cell, aggregate::rrf>);
        } else {
            switch (table_.rule) {
                case aggregate::mean:
                    score(score_objects_kernel<Score, Cell, aggregate::mean>);
                    break;
                case aggregate::min:
                    score(score_objects_kernel<Score, Cell, aggregate::min>);
                    break;
                case aggregate::max:
                    score(score_objects_kernel<Score, Cell, aggregate::max>);
                    break;
                case aggregate::product:
                    score(score_objects_kernel<Score, Cell, aggregate::product>);
                    break;
                default:
                    score(score_objects_kernel<Score, Cell, aggregate::sum>);
            }
        }
        if (all) return select(scores.span(), {}, range.size);
        const cuda_array<std::uint32_t> ids(place_, range.size, "the objects in a list");
        const std::size_t count =
            primitives::compact_positions<std::uint32_t>(place_, flags.span(), ids.span());
        const cuda_array<double> gathered(place_, count, "the scores of objects");
        QUERN_LAUNCH(place_, (cuda::launch_shape{cuda::blocks_for(count, block_threads), block_threads}),
                     gather_scores_kernel, scores.data(), ids.data(), count, range.first, gathered.data());
        select(gathered.span(), ids.span().first(count), count);
    }

    void select(device_span<const double> scores, device_span<const std::uint32_t> ids, std::size_t count) {
        device_best best(place_, std::min<std::size_t>(k_, count), 0);
        if (ids.empty())
            primitives::top_k<double>(place_, scores, best.scores(), best.ids());
        else
            primitives::top_k<double>(place_, scores, ids, best.scores(), best.ids());
        found_.push_back(std::move(best));
    }

    /// The best of all ranges.
    void hand_out(device_result& raw_result) {
        std::size_t count = 0;
        for (const device_best& of_range : found_) count += of_range.size();
        if (found_.size() > 1) {
            const device_best all(place_, count, 0);
            std::size_t at = 0;
            for (const device_best& of_range : found_) {
                const std::size_t size = of_range.size();
                place_.copy_within(all.scores().data() + at, of_range.scores().data(), size * sizeof(double));
                place_.copy_within(all.ids().data() + at, of_range.ids().data(),
                                   size * sizeof(std::uint32_t));
                at += size;
            }
            found_.clear();
            select(all.scores(), all.ids(), count);
        }
        found_[0].to_host(place_, raw_result);
    }

    device_lists<Score>& lists_;
    cuda_place& place_;
    ranked_table<Score> table_;
    std::uint32_t k_;
    std::vector<device_best> found_;
};

}  // namespace

template <class Score>
device_result read_everything(device_lists<Score>& lists, const scoring& rule, std::uint32_t k) {
    if (rule.rule() == aggregate::rrf) return everything<Score, std::uint32_t>(lists, rule, k).raw_result();
    return everything<Score, Score>(lists, rule, k).raw_result();
}
template device_result read_everything(device_lists<float>&, const scoring&, std::uint32_t);
template device_result read_everything(device_lists<double>&, const scoring&, std::uint32_t);

template <class Score>
device_result automatic(device_lists<Score>& lists, const scoring& rule, std::uint32_t k) {
    score_columns& columns = lists.columns();
    if (columns.made && columns.ranks == (rule.rule() == aggregate::rrf))
        return read_everything(lists, rule, k);
    device_result raw_result;
    if (columns.windows.size() == 0 && stops_early(lists, rule, k, raw_result)) return raw_result;
    const bool bounds_help =
        lists.objects() >= worth_windows && k <= lists.objects() / objects_a_result && !columns.tied;
    if (bounds_help && find_by_windows(lists, rule, k, raw_result = {})) return raw_result;
    raw_result = read_everything(lists, rule, k);
    columns.tied |= bounds_help;
    return raw_result;
}
template device_result automatic(device_lists<float>&, const scoring&, std::uint32_t);
template device_result automatic(device_lists<double>&, const scoring&, std::uint32_t);

}  // namespace quern::rank_aggregation_detail
