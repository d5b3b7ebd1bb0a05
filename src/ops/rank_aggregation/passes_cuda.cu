// SPDX-License-Identifier: Apache-2.0
// Early stopping on a GPU, in three passes as on the CPU (automatic.cpp), with one host decision in between.
//
//   1. One cooperative kernel marks all lists, one bit per object and list, with atomics in the second-level cache, in
//      rounds until k objects are in every list; the thread that sets an object's last bit counts it. Each of these k has
//      at least T, the score of the last values read: a lower bound s of the k-th best score without cost. (The first k of
//      any one list give another.) From s, a search over depths finds the one below which no object that lacks two lists
//      can reach it, and the marks continue to there.
//   2. A pass over the marks numbers the objects that lack at most one list, a pass over the lists fetches their values,
//      and the k-th best of their lower bounds is the final threshold.
//   3. An object that still lacks a list can be in the result only if it is in that list above the depth where its upper
//      bound falls below the threshold. These depths are searched, and each list is read to its maximum, skipping all but
//      the open objects.
//
// Nothing depends on the order of atomics: they decide only the row of each object, and rows are ordered by score and id.
#include <algorithm>
#include <cmath>
#include <limits>

#include "ops/rank_aggregation/passes_cuda.cuh"
#include "primitives/top_k/top_k.hpp"

namespace quern::rank_aggregation_detail {
namespace {

constexpr std::uint64_t small_lists = 1 << 14;  // below this, columns are as fast
/// Marking a part of the lists costs about as much as writing that many cells of columns, and the whole takes more passes.
constexpr double worth_reading = 0.35;
/// Where chance completes k objects above this share of the lists, looking whether that helps takes longer than reading on.
constexpr double worth_a_look = 0.12;

/// Whether one of a word's objects is in at least that many lists, tested for all objects in parallel: the number of bits
/// in each object's field, plus the addend that carries into the field's first bit from `least` on.
__device__ inline bool some_object_has(std::uint32_t word, unsigned bits, unsigned least) {
    if (bits < 4 || least == 0) return word != 0;
    std::uint32_t count = word - (word >> 1 & 0x55555555u);
    count = (count & 0x33333333u) + (count >> 2 & 0x33333333u);
    if (bits >= 8) count = (count + (count >> 4)) & 0x0f0f0f0fu;
    if (bits >= 16) count = (count + (count >> 8)) & 0x00ff00ffu;
    if (bits >= 32) count = (count + (count >> 16)) & 0x0000ffffu;
    const std::uint32_t ones = 0xffffffffu / (bits == 32 ? 0xffffffffu : (1u << bits) - 1),
                        top = 1u << (bits - 1);
    return ((count + ones * (top - least)) & ones * top) != 0;
}
__device__ inline bool some_object_has(std::uint64_t word, unsigned /*one object*/, unsigned least) {
    return word != 0 && __popcll(word) >= least;
}

/// Numbers the objects that lack at most one list. Four words of marks per thread; a block's rows are contiguous. rows_of
/// is written only for these objects; `ids` holds `capacity` rows.
template <class Score, class Word>
__global__ void __launch_bounds__(block_threads)
    number_rows_kernel(ranked_table<Score> table, seen_lists<Word> seen, std::size_t words, pass_state* state,
                       std::uint32_t* row_of, std::uint32_t* ids, std::uint64_t capacity) {
    constexpr unsigned words_a_thread = 4;
    __shared__ unsigned of_block;
    __shared__ unsigned long long base;
    if (state->stopped == 0) return;
    if (threadIdx.x == 0) of_block = 0;
    __syncthreads();
    const Word ended = ended_at<Word>(table, state->depth);
    const std::size_t first = std::size_t{blockIdx.x} * (block_threads * words_a_thread) + threadIdx.x;
    Word not_ended = 0, mine[words_a_thread];  // the lists that count, in every object's field
    for (unsigned place = 0; place < 1u << seen.packing; ++place)
        not_ended |= static_cast<Word>((seen.all & ~ended) << (place * seen.bits));
    const unsigned lists = seen.missing_lists(0, ended), least = lists == 0 ? 0 : lists - 1;
#pragma unroll
    for (unsigned j = 0; j < words_a_thread; ++j) {
        const std::size_t w = first + j * block_threads;
        mine[j] = w < words ? seen.words[w] : Word{0};
        if (least != 0 && !some_object_has(static_cast<Word>(mine[j] & not_ended), seen.bits, least))
            mine[j] = 0;
    }
    const auto each_row = [&](const auto& take) {
#pragma unroll
        for (unsigned j = 0; j < words_a_thread; ++j) {
            if (mine[j] == 0) continue;
            for (unsigned place = 0; place < 1u << seen.packing; ++place) {
                const Word sets = seen.of_word(mine[j], place);
                if (sets == 0 || seen.missing_lists(sets, ended) > 1) continue;
                take(static_cast<std::uint32_t>((first + j * block_threads) << seen.packing | place));
            }
        }
    };
    unsigned count = 0;
    each_row([&](std::uint32_t) { ++count; });
    const unsigned offset = count == 0 ? 0 : atomicAdd(&of_block, count);
    __syncthreads();
    if (threadIdx.x == 0 && of_block != 0)
        base = atomicAdd(&state->rows, static_cast<unsigned long long>(of_block));
    __syncthreads();
    std::uint64_t row = base + offset;
    each_row([&](std::uint32_t id) {
        if (row < capacity) {
            ids[row] = id;
            row_of[id] = static_cast<std::uint32_t>(row);
        }
        ++row;
    });
}

/// The values of the rows: `values` has a row of table.size values each, all missing before.
struct row_values {
    const std::uint32_t* row_of;
    double* values;
    __device__ void put(std::uint32_t id, unsigned lists, unsigned list, double value) const {
        values[std::uint64_t{row_of[id]} * lists + list] = value;
    }
};

/// Fetches marked entries. Block (x, y): a range of list y, four entries per thread.
template <class Score, class Word>
__global__ void __launch_bounds__(block_threads)
    fetch_seen_kernel(ranked_table<Score> table, seen_lists<Word> seen, std::uint64_t depth, Word ended,
                      row_values rows) {
    constexpr unsigned entries_a_thread = 4;
    const unsigned list = blockIdx.y;
    const device_list<Score> from = table.lists[list];
    const std::uint64_t end = depth < from.size ? depth : from.size;
    const std::uint64_t begin = std::uint64_t{blockIdx.x} * (block_threads * entries_a_thread) + threadIdx.x;
    std::uint32_t ids[entries_a_thread];
    bool wanted[entries_a_thread];
#pragma unroll
    for (unsigned j = 0; j < entries_a_thread; ++j) {
        const std::uint64_t at = begin + j * block_threads;
        wanted[j] = at < end;
        ids[j] = wanted[j] ? from.ids[at] : 0;
    }
#pragma unroll
    for (unsigned j = 0; j < entries_a_thread; ++j)
        wanted[j] = wanted[j] && seen.missing_lists(seen.of(ids[j]), ended) <= 1;
#pragma unroll
    for (unsigned j = 0; j < entries_a_thread; ++j) {
        const std::uint64_t at = begin + j * block_threads;
        if (wanted[j]) rows.put(ids[j], table.size, list, table.value(list, from.scores[at], at + 1));
    }
}

/// The score of a row with the given values in place of missing ones.
template <class Score, class Others>
__device__ double score_of_row(const ranked_table<Score>& table, const double* values, const Others& others) {
    score_sum sum(table.rule);
    for (unsigned i = 0; i < table.size; ++i) sum.take(is_missing(values[i]) ? others(i) : values[i]);
    return sum.score(table.weights);
}

/// One thread per row: its lower bound.
template <class Score>
__global__ void bound_rows_kernel(ranked_table<Score> table, const double* values, std::uint64_t rows,
                                  double* bounds) {
    const std::uint64_t row = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    bounds[row] =
        score_of_row(table, values + row * table.size, [&](unsigned i) { return table.floor_value(i); });
}

/// Finds how deep lists must be read for the rows that lack them. One thread per row; open rows are few, and a warp
/// searches for each of them together, 32 depths at a time. *bar_score, *bar_id: the last of the k best lower bounds.
template <class Score>
__global__ void __launch_bounds__(block_threads)
    search_depths_kernel(ranked_table<Score> table, const double* values, const std::uint32_t* ids,
                         std::uint64_t rows, const double* bar_score, const std::uint32_t* bar_id,
                         pass_state* state) {
    const std::uint64_t row = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x;
    const unsigned lane = threadIdx.x % 32;
    const scored_object bar{*bar_score, *bar_id};
    const std::uint64_t depth = state->depth;
    // Whether the row may be among the best if its missing value is just below this depth.
    const auto undecided_at = [&](std::uint64_t of, std::uint64_t at) {
        const double bound =
            score_of_row(table, values + of * table.size, [&](unsigned i) { return table.bound(i, at); });
        return !precedes(bar, {bound, ids[of]});
    };
    unsigned missing_bits = table.size;
    for (unsigned i = 0; row < rows && i < table.size; ++i)
        if (is_missing(values[row * table.size + i]) && table.lists[i].size > depth) missing_bits = i;
    unsigned undecided = __ballot_sync(0xffffffffu, missing_bits != table.size && undecided_at(row, depth));
    for (; undecided != 0; undecided &= undecided - 1) {
        const unsigned leader = __ffs(undecided) - 1;
        const std::uint64_t of = row - lane + leader;
        const unsigned list = __shfl_sync(0xffffffffu, missing_bits, leader);
        // Open at `low`; closed at `high`, or the list ends there.
        std::uint64_t low = depth, high = table.lists[list].size;
        while (high - low > 1) {
            const std::uint64_t step = (high - low + 31) / 32;
            const std::uint64_t probe = low + step * (lane + 1);
            const bool closed = probe >= high || !undecided_at(of, probe);
            const unsigned first = __ffs(__ballot_sync(0xffffffffu, closed)) - 1;
            const std::uint64_t new_high = low + step * (first + 1);
            low += step * first;
            high = new_high < high ? new_high : high;
        }
        if (lane == 0) atomicMax(&state->reached[list], static_cast<unsigned long long>(high));
    }
}

/// Pass 3: block (x, y) scans a part of the further entries of list y, and fetches values for the rows that lack it.
template <class Score, class Word>
__global__ void __launch_bounds__(block_threads)
    fetch_undecided_kernel(ranked_table<Score> table, seen_lists<Word> seen, const pass_state* state,
                           Word ended, row_values rows) {
    const unsigned list = blockIdx.y;
    const device_list<Score> from = table.lists[list];
    const std::uint64_t end = state->reached[list] < from.size ? state->reached[list] : from.size;
    const std::uint64_t threads = std::uint64_t{gridDim.x} * blockDim.x;
#pragma unroll 4
    for (std::uint64_t at = state->depth + std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; at < end;
         at += threads) {
        const std::uint32_t id = from.ids[at];
        const Word sets = seen.of(id);
        if (sets != 0 && seen.missing_lists(sets, ended) <= 1)
            rows.put(id, table.size, list, table.value(list, from.scores[at], at + 1));
    }
}

/// One thread per row: its score; −infinity if a list it lacks was not read to the end, because it then cannot be among the
/// best.
template <class Score>
__global__ void score_rows_kernel(ranked_table<Score> table, const double* values, std::uint64_t rows,
                                  const pass_state* state, double* scores) {
    const std::uint64_t row = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    bool known = true;
    const double score = score_of_row(table, values + row * table.size, [&](unsigned i) {
        known &= state->reached[i] >= table.lists[i].size;
        return table.floor_value(i);
    });
    scores[row] = known ? score : -__longlong_as_double(0x7ff0000000000000LL);
}

template <class Score, class Word>
class passes {
  public:
    passes(device_lists<Score>& lists, const scoring& rule, std::uint32_t k)
        : lists_(lists), place_(lists.place()), table_(table_of(lists, rule)), k_(k) {
        const auto longest = static_cast<double>(lists.longest());
        const double objects = std::max(1.0, static_cast<double>(lists.objects()));
        plan_.k = k;
        plan_.objects = objects;
        plan_.longest = longest;
        plan_.limit = static_cast<std::uint64_t>(worth_reading * longest);
        // If lists are independent, a share p^lists of all objects is complete at the share p. Lists that agree have k
        // complete objects at a fraction of that depth; lists that contradict each other lack them where chance would not.
        const auto depth_of = [&](double complete) {
            return std::pow(complete / objects, 1 / static_cast<double>(lists.size())) * longest;
        };
        const double surely = depth_of(k + 3 * std::sqrt(static_cast<double>(k)) + 3);
        plan_.first = std::max<std::uint64_t>(static_cast<std::uint64_t>(depth_of(k) / 64), k);
        plan_.deepest = std::min<std::uint64_t>(
            plan_.limit,
            static_cast<std::uint64_t>(std::max({1.1 * surely, 1.5 * depth_of(k), static_cast<double>(k)})));
        plan_.looks = depth_of(k) > worth_a_look * longest;
        plan_.by_chance = std::min(plan_.deepest, static_cast<std::uint64_t>(std::max(depth_of(k), 1.0)));
    }

    bool find(device_result& raw_result) {
        if (lists_.longest() < small_lists || plan_.first >= plan_.limit) return false;
        const std::size_t words = words_of_objects<Word>(lists_.size(), lists_.objects());
        const std::uint64_t capacity = lists_.objects() / 4;
        if (k_ > capacity || place_.memory().left() < words * sizeof(Word) +
                                                          12 * std::uint64_t{lists_.objects()} +
                                                          12 * std::uint64_t{k_} + sizeof(pass_state))
            return false;
        const cuda_array<Word> seen_bits(place_, words, "the marks of objects");
        const cuda_array<std::uint32_t> row_of(place_, lists_.objects(), "the rows of objects");
        const cuda_array<std::uint32_t> ids(place_, capacity, "the objects of rows");
        const device_best best(place_, k_, sizeof(pass_state));
        auto* const state = reinterpret_cast<pass_state*>(best.extra());
        const seen_lists<Word> seen = seen_in(seen_bits.data(), lists_.size());
        place_.fill_bytes(seen_bits.data(), 0, words * sizeof(Word));
        place_.fill_bytes(state, 0, sizeof(pass_state));
        run_first_pass(place_, table_, seen, plan_, state);
        QUERN_LAUNCH(place_, (cuda::launch_shape{cuda::blocks_for(words, 4 * block_threads), block_threads}),
                     (number_rows_kernel<Score, Word>), table_, seen, words, state, row_of.data(), ids.data(),
                     capacity);
        const pass_state now = to_host(place_, device_span<const pass_state>(state, 1))[0];
        const std::uint64_t bytes_a_row = 8 * lists_.size() + 32;  // includes a selection's composites
        if (now.stopped == 0 || now.rows > capacity || now.rows < k_ ||
            now.rows * bytes_a_row > place_.memory().left())
            return false;
        raw_result.candidates = now.rows;
        return finish(now, seen, row_of.data(), ids.span().first(now.rows), best, raw_result);
    }

  private:
    bool finish(const pass_state& now, const seen_lists<Word>& seen, const std::uint32_t* row_of,
                device_span<const std::uint32_t> ids, const device_best& best, device_result& raw_result) {
        auto* const state = reinterpret_cast<pass_state*>(best.extra());
        const std::uint64_t rows = ids.size();
        const auto lists = static_cast<unsigned>(lists_.size());
        const cuda_array<double> values(place_, rows * lists, "the values of rows");
        const cuda_array<double> scores(place_, rows, "the scores of rows");
        place_.fill_bytes(values.data(), 0xff, values.span().size_bytes());
        const row_values put{row_of, values.data()};
        Word ended = 0;
        for (unsigned i = 0; i < lists; ++i)
            if (lists_.lists()[i].size <= now.depth) ended |= Word{1} << i;
        const cuda::launch_shape one_a_row{cuda::blocks_for(rows, block_threads), block_threads};
        QUERN_LAUNCH(
            place_,
            (cuda::launch_shape{dim3(cuda::blocks_for(now.depth, 4 * block_threads), lists), block_threads}),
            (fetch_seen_kernel<Score, Word>), table_, seen, now.depth, ended, put);
        QUERN_LAUNCH(place_, one_a_row, bound_rows_kernel<Score>, table_, values.data(), rows, scores.data());
        primitives::top_k<double>(place_, scores.span(), ids, best.scores(), best.ids());
        QUERN_LAUNCH(place_, one_a_row, search_depths_kernel<Score>, table_, values.data(), ids.data(), rows,
                     best.scores().data() + k_ - 1, best.ids().data() + k_ - 1, state);
        const dim3 some(std::max(1u, 4 * place_.multiprocessors() / lists), lists);
        QUERN_LAUNCH(place_, (cuda::launch_shape{some, block_threads}), (fetch_undecided_kernel<Score, Word>),
                     table_, seen, state, ended, put);
        QUERN_LAUNCH(place_, one_a_row, score_rows_kernel<Score>, table_, values.data(), rows, state,
                     scores.data());
        primitives::top_k<double>(place_, scores.span(), ids, best.scores(), best.ids());
        pass_state then;
        best.to_host(place_, raw_result, &then);
        if (raw_result.scores.back() == -std::numeric_limits<double>::infinity()) return false;
        for (unsigned i = 0; i < lists; ++i)
            raw_result.depths.push_back(std::min<std::uint64_t>(then.reached[i], lists_.lists()[i].size));
        return true;
    }

    device_lists<Score>& lists_;
    cuda_place& place_;
    ranked_table<Score> table_;
    std::uint32_t k_;
    pass_plan plan_{};
};

}  // namespace

template <class Score>
bool stops_early(device_lists<Score>& lists, const scoring& rule, std::uint32_t k,
                 device_result& raw_result) {
    return lists.size() <= 32 ? passes<Score, std::uint32_t>(lists, rule, k).find(raw_result)
                              : passes<Score, std::uint64_t>(lists, rule, k).find(raw_result);
}
template bool stops_early(device_lists<float>&, const scoring&, std::uint32_t, device_result&);
template bool stops_early(device_lists<double>&, const scoring&, std::uint32_t, device_result&);

}  // namespace quern::rank_aggregation_detail
