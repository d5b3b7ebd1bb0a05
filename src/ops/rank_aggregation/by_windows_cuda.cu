// SPDX-License-Identifier: Apache-2.0
// Everything is read, but in two bytes an entry: the window of each object in each list (rank_windows.cuh). Sums of bounds exclude
// all but a few objects, and only their scores are looked up.
//
//   1. Of a sample of the objects the k-th best lower bound is a first threshold.
//   2. All objects: those whose upper bound reaches it are candidates. The bounds are floats of coarse windows, which fit shared
//      memory.
//   3. Candidates: bounds in double, of whole windows. The k-th best lower bound is the second threshold.
//   4. The rest is searched for in its windows, and scored.
//
// Why it is exact: a float is rounded away from the value, and so is each sum of floats: it stays beyond the sum of doubles that
// defines the score, since rounding is monotone. A candidate is dropped only if its upper bound is less than k lower bounds.
// Where scores are equal by the thousand, too many objects remain, and everything is read.
#include <algorithm>
#include <cmath>
#include <limits>

#include "ops/rank_aggregation/window_bounds.cuh"
#include "primitives/top_k/top_k.hpp"

namespace quern::rank_aggregation_detail {
namespace {

constexpr std::size_t max_table_bytes = 96u << 10;
constexpr unsigned search_threads = 256;

/// The positions of a window of a list.
template <class Score>
__device__ inline std::uint64_t end_of_window(const device_list<Score>& list, unsigned window) {
    const std::uint64_t next = first_of_window(window + 1);
    return next < list.size ? next : list.size;
}

/// One thread per candidate: its bounds.
template <class Score>
__global__ void bound_candidates_kernel(ranked_table<Score> table, window_cells windows,
                                        const std::uint32_t* ids, std::uint32_t count, double* lower,
                                        double* upper) {
    const std::uint32_t c = blockIdx.x * blockDim.x + threadIdx.x;
    if (c >= count) return;
    score_sum least(table.rule), most(table.rule);
    for (unsigned i = 0; i < table.size; ++i) {
        const unsigned window = windows.at(ids[c], i);
        const device_list<Score>& list = table.lists[i];
        if (window == no_window) {
            least.take(table.floor_value(i));
            most.take(table.floor_value(i));
            continue;
        }
        const std::uint64_t first = first_of_window(window), last = end_of_window(list, window) - 1;
        least.take(table.value(i, list.scores[last], last + 1));
        most.take(table.value(i, list.scores[first], first + 1));
    }
    lower[c] = least.score(table.weights);
    upper[c] = most.score(table.weights);
}

/// The candidates that may be among the best, and the entries in their windows. `bar`: the k-th best lower bound.
template <class Score>
__global__ void choose_rows_kernel(ranked_table<Score> table, window_cells windows, const std::uint32_t* ids,
                                   std::uint32_t count, const double* upper, const double* bar,
                                   search_state* state, std::uint32_t* chosen) {
    const std::uint32_t c = blockIdx.x * blockDim.x + threadIdx.x;
    if (c >= count || upper[c] < *bar) return;
    chosen[atomicAdd(&state->chosen, 1ull)] = ids[c];
    unsigned long long entries = 0;
    for (unsigned i = 0; i < table.size; ++i) {
        const unsigned window = windows.at(ids[c], i);
        if (window != no_window) entries += end_of_window(table.lists[i], window) - first_of_window(window);
    }
    atomicAdd(&state->entries, entries);
}

/// Block (x, y): the value of row x in list y.
template <class Score>
__global__ void __launch_bounds__(search_threads)
    find_values_kernel(ranked_table<Score> table, window_cells windows, const std::uint32_t* chosen,
                       double* values) {
    const std::uint32_t id = chosen[blockIdx.x];
    const unsigned i = blockIdx.y, window = windows.at(id, i);
    double* const to = values + std::uint64_t{blockIdx.x} * table.size + i;
    if (window == no_window) {
        if (threadIdx.x == 0) *to = table.floor_value(i);
        return;
    }
    const device_list<Score>& list = table.lists[i];
    const std::uint64_t end = end_of_window(list, window);
#pragma unroll 8
    for (std::uint64_t at = first_of_window(window) + threadIdx.x; at < end; at += search_threads)
        if (list.ids[at] == id) *to = table.value(i, list.scores[at], at + 1);
}

/// One thread per row.
template <class Score>
__global__ void score_values_kernel(ranked_table<Score> table, const double* values, std::uint32_t rows,
                                    double* scores) {
    const std::uint32_t row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    score_sum sum(table.rule);
    for (unsigned i = 0; i < table.size; ++i) sum.take(values[std::uint64_t{row} * table.size + i]);
    scores[row] = sum.score(table.weights);
}

cuda::launch_shape one_an_item(std::uint64_t items) {
    return {cuda::blocks_for(items, block_threads), block_threads};
}

template <class Score>
class window_search {
  public:
    window_search(device_lists<Score>& lists, const scoring& rule, std::uint32_t k)
        : lists_(lists), place_(lists.place()), table_(table_of(lists, rule)), k_(k) {
        const std::uint32_t objects = lists.objects();
        capacity_ =
            static_cast<std::uint32_t>(std::min<std::uint64_t>(objects, (1u << 18) + 32 * std::uint64_t{k}));
        // A sample in which the k-th is not chance, and of which a candidate in `every` comes.
        const std::uint64_t words = (std::uint64_t{objects} + of_word - 1) / of_word;
        every_ = static_cast<std::uint32_t>(
            std::clamp<std::uint64_t>(objects / (64 * std::uint64_t{k} + 1), 1, 16));
        const std::uint64_t runs = (words + sample_words - 1) / sample_words;
        sample_ = static_cast<std::uint32_t>((runs + every_ - 1) / every_ * sample_words);
        if ((runs - 1) % every_ == 0)  // the last run is in it, and may be short
            sample_ -= static_cast<std::uint32_t>(runs * sample_words - words);
        const unsigned last =
            lists.longest() == 0 ? 0 : window_of(static_cast<std::uint32_t>(lists.longest() - 1));
        const std::size_t room = std::min(max_table_bytes, place_.abilities().dynamic_shared(0));
        for (;; ++shape_.shift) {
            shape_.count = (last >> shape_.shift) + 2;
            if (lists.size() * shape_.count * sizeof(float) <= room) break;
        }
    }

    bool find(device_result& raw_result) {
        if (k_ == 0 || lists_.longest() == 0 || sample_ * std::uint64_t{of_word} < k_ || !has_memory())
            return false;
        make_windows();
        const cuda_array<float> bounds(place_, 2 * lists_.size() * shape_.count, "the bounds of windows");
        QUERN_LAUNCH(place_,
                     (cuda::launch_shape{dim3(cuda::blocks_for(shape_.count, block_threads),
                                              static_cast<unsigned>(lists_.size())),
                                         block_threads}),
                     bound_windows_kernel<Score>, table_, shape_, bounds.data());
        const device_best best(place_, k_, sizeof(search_state));
        auto* const state = reinterpret_cast<search_state*>(best.extra());
        place_.fill_bytes(state, 0, sizeof(search_state));
        const cuda_array<std::uint32_t> ids(place_, capacity_, "candidates");
        switch (table_.rule) {
            case aggregate::min:
                choose_candidates<aggregate::min>(bounds.data(), state, ids.data());
                break;
            case aggregate::max:
                choose_candidates<aggregate::max>(bounds.data(), state, ids.data());
                break;
            case aggregate::product:
                choose_candidates<aggregate::product>(bounds.data(), state, ids.data());
                break;
            case aggregate::mean:
                choose_candidates<aggregate::mean>(bounds.data(), state, ids.data());
                break;
            default:
                choose_candidates<aggregate::sum>(bounds.data(), state, ids.data());
        }
        const std::uint64_t candidates = now(state).candidates;
        if (candidates < k_ || candidates > capacity_) return false;
        raw_result.candidates = candidates;
        return score_candidates(ids.span().first(candidates), best, raw_result);
    }

  private:
    window_cells windows() const {
        const std::uint32_t objects = lists_.objects();
        return {lists_.columns().windows.data(), window_stride(objects), objects,
                static_cast<unsigned>(lists_.size())};
    }
    std::uint64_t cells() const { return lists_.size() * window_stride(lists_.objects()); }

    bool has_memory() const {
        const std::uint64_t objects = lists_.objects(), made = lists_.columns().windows.size() == 0;
        const std::uint64_t search =
            std::max(std::uint64_t{of_word} * sample_ * sizeof(float) + 16 * std::uint64_t{k_},
                     capacity_ * (64 + sizeof(double) * lists_.size()));
        const std::uint64_t making = made * extra_bytes_of_windows(lists_.objects());
        const std::uint64_t bytes = made * cells() * sizeof(std::uint16_t) + std::max(making, search) +
                                    8 * max_table_bytes + objects / 8;
        return bytes <= place_.memory().left();
    }

    void make_windows() {
        cuda_array<std::uint16_t>& windows = lists_.columns().windows;
        if (windows.size() != 0) return;
        cuda_array<std::uint16_t> made(place_, cells(), "columns of windows");
        fill_windows(lists_, made.data());
        windows = std::move(made);
    }

    search_state now(const search_state* state) {
        return to_host(place_, device_span<const search_state>(state, 1))[0];
    }

    template <aggregate Rule>
    void choose_candidates(const float* bounds, search_state* state, std::uint32_t* ids) {
        const std::size_t bytes = lists_.size() * shape_.count * sizeof(float);
        const auto sample = bound_sample_kernel<Rule>;
        const auto choose = choose_candidates_kernel<Rule>;
        const auto shape_of = [&](auto kernel) {
            int blocks = 0;
            place_.make_current();
            QUERN_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                             static_cast<int>(bytes)));
            QUERN_CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, bound_threads, bytes));
            return cuda::launch_shape{std::max(1, blocks) * place_.multiprocessors(), bound_threads, bytes};
        };
        const cuda_array<float> lower(place_, std::size_t{of_word} * sample_, "the bounds of a sample");
        const cuda_array<float> best(place_, k_, "the best of a sample");
        const cuda_array<std::uint32_t> best_ids(place_, k_, "the best of a sample");
        QUERN_LAUNCH(place_, shape_of(sample), sample, windows(), shape_,
                     bounds + lists_.size() * shape_.count, every_, sample_, lower.data());
        primitives::top_k<float>(place_, lower.span(), best.span(), best_ids.span());
        QUERN_LAUNCH(place_, shape_of(choose), choose, windows(), shape_, bounds, table_.weights,
                     best.data() + k_ - 1, state, ids, capacity_);
    }

    bool score_candidates(device_span<const std::uint32_t> ids, const device_best& best,
                          device_result& raw_result) {
        auto* const state = reinterpret_cast<search_state*>(best.extra());
        const auto count = static_cast<std::uint32_t>(ids.size());
        const cuda_array<double> lower(place_, count, "the bounds of candidates");
        const cuda_array<double> upper(place_, count, "the bounds of candidates");
        const cuda_array<std::uint32_t> chosen(place_, count, "candidates");
        QUERN_LAUNCH(place_, one_an_item(count), bound_candidates_kernel<Score>, table_, windows(),
                     ids.data(), count, lower.data(), upper.data());
        primitives::top_k<double>(place_, lower.span(), ids, best.scores(), best.ids());
        QUERN_LAUNCH(place_, one_an_item(count), choose_rows_kernel<Score>, table_, windows(), ids.data(),
                     count, upper.data(), best.scores().data() + k_ - 1, state, chosen.data());
        const search_state then = now(state);
        // Searching costs what reading does.
        if (then.entries > lists_.longest() * lists_.size() / 4 + (1u << 20)) return false;
        const auto rows = static_cast<std::uint32_t>(then.chosen);
        const auto lists = static_cast<unsigned>(lists_.size());
        const cuda_array<double> values(place_, std::size_t{rows} * lists, "the values of candidates");
        QUERN_LAUNCH(place_, (cuda::launch_shape{dim3(rows, lists), search_threads}),
                     find_values_kernel<Score>, table_, windows(), chosen.data(), values.data());
        QUERN_LAUNCH(place_, one_an_item(rows), score_values_kernel<Score>, table_, values.data(), rows,
                     lower.data());
        primitives::top_k<double>(place_, lower.span().first(rows), chosen.span().first(rows), best.scores(),
                                  best.ids());
        best.to_host(place_, raw_result);
        for (const auto& list : lists_.lists()) raw_result.depths.push_back(list.size);
        return true;
    }

    device_lists<Score>& lists_;
    cuda_place& place_;
    ranked_table<Score> table_;
    std::uint32_t k_, capacity_ = 0, every_ = 1, sample_ = 0;  ///< sample_: its words
    bound_table shape_{};
};

}  // namespace

template <class Score>
bool find_by_windows(device_lists<Score>& lists, const scoring& rule, std::uint32_t k,
                     device_result& raw_result) {
    return window_search<Score>(lists, rule, k).find(raw_result);
}
template bool find_by_windows(device_lists<float>&, const scoring&, std::uint32_t, device_result&);
template bool find_by_windows(device_lists<double>&, const scoring&, std::uint32_t, device_result&);

}  // namespace quern::rank_aggregation_detail
