// SPDX-License-Identifier: Apache-2.0
// The measures that have no upper bounds on a GPU: all pairs, row by row, as on the CPU. The matrix is turned round, so that
// each column lists its words with their values. The sums of some rows with all words are in device memory: for every entry of
// these rows a warp goes through the list of its column and adds a term to the sum of each word there. Then sums become scores,
// and the best of every row are selected. Terms are integers (further_addends.hpp), so that neither the order of the atomic
// additions nor that of a list changes a bit.
//
// Cost: Σ over columns of entries² terms. A term reads 12 bytes of a list (20 for distributions, whose values are two doubles)
// and adds 8 (weeds: 16) to sums that fit L2: the warps at work are in a few neighbouring rows. A term of jensen-shannon or skew
// is 36 operations in double, of which one or two are divisions. A pair of words costs some 40 bytes besides: its sum cleared,
// converted and read by the selection.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "device/array.hpp"
#include "device/cuda/check.cuh"
#include "ops/word_similarity/bounds/automatic_cuda.hpp"
#include "ops/word_similarity/exact/further_addends.hpp"
#include "ops/word_similarity/exact/row_groups.cuh"
#include "ops/word_similarity/similarity_methods.hpp"
#include "primitives/scan/scan.hpp"
#include "primitives/top_k/top_k.hpp"

namespace quern::word_similarity_detail {
namespace {

constexpr unsigned threads = 256, warps = threads / 32;
constexpr std::uint64_t max_rows_at_once = 1024;

/// For every column the words that have it, in any order, with their values.
template <class Addends>
struct column_lists {
    cuda_array<std::uint64_t> offsets;
    cuda_array<std::uint32_t> words;
    cuda_array<typename Addends::value> values;
};

/// The same for kernels.
template <class Addends>
struct column_view {
    const std::uint64_t* offsets;
    const std::uint32_t* words;
    const typename Addends::value* values;
};

/// One thread per entry.
__global__ void count_columns_kernel(const std::uint32_t* columns, std::uint64_t entries,
                                     std::uint32_t* counts) {
    const std::uint64_t e = std::uint64_t{blockIdx.x} * threads + threadIdx.x;
    if (e < entries) atomicAdd(counts + columns[e], 1U);
}

/// Enters each row, one per block, into the lists of its columns; next[c]: the end of list c so far.
template <class Addends>
__global__ void scatter_entries_kernel(device_rows rows, const double* units, unsigned long long* next,
                                       std::uint32_t* words, typename Addends::value* values) {
    const device_row row = row_of(rows, blockIdx.x);
    const std::uint32_t word = rows.first + blockIdx.x;
    const double unit = units[word];
    for (std::uint32_t i = threadIdx.x; i < row.length; i += threads) {
        const unsigned long long at = atomicAdd(next + row.columns[i], 1ULL);
        words[at] = word;
        values[at] = Addends::value_of(row.weights[i], unit);
    }
}

__device__ void add(std::uint64_t* sums, std::size_t at, std::uint64_t term) {
    atomicAdd(reinterpret_cast<unsigned long long*>(sums + at), static_cast<unsigned long long>(term));
}

/// The sums of some rows with all words, row after row; where a sum has two parts, all the second ones follow all the first.
struct row_sums {
    std::uint64_t* sums;
    std::uint32_t words;
    std::size_t pairs;

    __device__ void add_to(std::size_t pair, std::uint64_t term) const { add(sums, pair, term); }
    __device__ void add_to(std::size_t pair, const weeds_addends::sum& term) const {
        add(sums, pair, term.of_first);
        add(sums, pairs + pair, term.of_second);
    }
    __device__ void get(std::size_t pair, std::uint64_t& sum) const { sum = sums[pair]; }
    __device__ void get(std::size_t pair, weeds_addends::sum& sum) const {
        sum.of_first = sums[pair];
        sum.of_second = sums[pairs + pair];
    }
};

/// The row of an entry, of `count` rows from `from` on: the last one that begins at it or before.
__device__ std::uint32_t row_of_entry(const device_rows& rows, std::uint32_t from, std::uint32_t count,
                                      std::uint64_t entry) {
    std::uint32_t low = from, high = from + count;
    while (high - low > 1) {
        const std::uint32_t middle = low + (high - low) / 2;
        if (rows.offsets[middle] <= entry)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/// One warp per entry of [begin, end), those of `count` rows from `from` on. Blocks begin in their order, so that those at work
/// have entries of few rows.
template <class Addends>
__global__ void __launch_bounds__(threads)
    add_shared_kernel(device_rows rows, std::uint32_t from, std::uint32_t count, std::uint64_t begin,
                      std::uint64_t end, const double* units, column_view<Addends> columns, row_sums sums) {
    const std::uint64_t entry = begin + std::uint64_t{blockIdx.x} * warps + threadIdx.x / 32;
    if (entry >= end) return;
    const std::uint32_t row = row_of_entry(rows, from, count, entry), column = rows.columns[entry];
    const typename Addends::value mine = Addends::value_of(rows.weights[entry], units[rows.first + row]);
    const std::size_t first_pair = std::size_t{row - from} * sums.words;
    const std::uint64_t end_of_list = columns.offsets[column + 1];
    for (std::uint64_t i = columns.offsets[column] + threadIdx.x % 32; i < end_of_list; i += 32)
        sums.add_to(first_pair + columns.words[i], Addends::term(mine, columns.values[i]));
}

/// Sums to scores in place, 0 for a word with itself; the first row is of word `first`. One thread per pair.
template <class Addends>
__global__ void score_pairs_kernel(row_sums sums, std::uint32_t first, const std::uint64_t* sums_of_rows) {
    const std::size_t pair = std::size_t{blockIdx.x} * threads + threadIdx.x;
    if (pair >= sums.pairs) return;
    const auto a = first + static_cast<std::uint32_t>(pair / sums.words);
    const auto b = static_cast<std::uint32_t>(pair % sums.words);
    typename Addends::sum shared{};
    sums.get(pair, shared);
    const double score = a == b || shared == typename Addends::sum{}
                             ? 0
                             : Addends::score(shared, sums_of_rows[a], sums_of_rows[b]);
    sums.sums[pair] = static_cast<std::uint64_t>(__double_as_longlong(score));
}

template <class Addends>
column_lists<Addends> invert(cuda_place& place, const device_rows& rows, std::uint64_t entries,
                             std::uint32_t columns, const double* units) {
    column_lists<Addends> made{cuda_array<std::uint64_t>(place, std::size_t{columns} + 1, "words by context"),
                               cuda_array<std::uint32_t>(place, entries, "words by context"),
                               cuda_array<typename Addends::value>(place, entries, "words by context")};
    const cuda_array<std::uint32_t> counts(place, columns, "words by context");
    const cuda_array<unsigned long long> next(place, columns, "words by context");
    place.fill_bytes(counts.data(), 0, counts.span().size_bytes());
    QUERN_LAUNCH(place, (cuda::launch_shape{cuda::blocks_for(entries, threads), threads}),
                 count_columns_kernel, rows.columns, entries, counts.data());
    primitives::exclusive_scan<std::uint32_t, std::uint64_t>(place, counts.span(), made.offsets.span());
    place.copy_within(next.data(), made.offsets.data(), next.span().size_bytes());
    QUERN_LAUNCH(place, (cuda::launch_shape{rows.count, threads}), scatter_entries_kernel<Addends>, rows,
                 units, next.data(), made.words.data(), made.values.data());
    return made;
}

/// The parts in which the work is done: half of the memory is for the matrix, half for sums and their selection.
struct portions {
    std::uint64_t group_entries;
    std::uint32_t rows_at_once;
};
template <class Addends>
portions choose_portions(const fixed_rows& rows, std::uint32_t top, std::uint64_t memory) {
    constexpr std::uint64_t entry_bytes = 8, list_bytes = 4 + sizeof(typename Addends::value);
    const std::uint64_t half = memory / 2;
    const std::uint64_t always = std::uint64_t{rows.column_count} * 20 + std::uint64_t{rows.words} * 16;
    const std::uint64_t room = half > always ? half - always : 0, entries = rows.columns.size();
    const std::uint64_t bytes_a_row =
        std::uint64_t{rows.words} * (sizeof(typename Addends::sum) + 32) + std::uint64_t{top} * 12;
    return {entries * (entry_bytes + list_bytes) <= room
                ? entries
                : std::max<std::uint64_t>(room / (2 * entry_bytes + list_bytes), 1),
            static_cast<std::uint32_t>(std::clamp<std::uint64_t>(half / bytes_a_row, 1, max_rows_at_once))};
}

template <class Addends>
class further_search : public range_search {
  public:
    further_search(cuda_place& place, const fixed_rows& rows, std::uint32_t top)
        : place_(place),
          rows_(rows),
          top_(top),
          sums_of_rows_(array_from<cuda_place, std::uint64_t>(place, rows.sums, "sums of rows")),
          units_(units_on(place, rows)),
          parts_(choose_portions<Addends>(rows, top, place.memory().left())),
          groups_(cut_words(rows, {0, rows.words}, rows.words, parts_.group_entries)) {
        if (!is_whole()) return;
        whole_ = row_group(place, rows, 0, rows.words);
        columns_ = inverted(whole_.view());
    }

    neighbour_lists find(word_range requested) override {
        neighbour_lists all;
        all.offsets.push_back(0);
        for (const word_range& mine : cut_words(rows_, requested, rows_.words, parts_.group_entries)) {
            row_group loaded;
            if (!is_whole()) loaded = row_group(place_, rows_, mine.first, mine.count);
            const device_rows own =
                is_whole() ? some_rows(whole_.view(), mine.first, mine.count) : loaded.view();
            const std::uint64_t base = is_whole() ? 0 : rows_.offsets[mine.first];
            for (std::uint32_t from = 0; from < mine.count; from += parts_.rows_at_once)
                find_some(own, base, from, std::min(parts_.rows_at_once, mine.count - from), all);
        }
        return all;
    }

  private:
    static cuda_array<double> units_on(cuda_place& place, const fixed_rows& rows) {
        cpu_place host(place.ctx());
        return array_from<cuda_place, double>(place, Addends::units(host, rows), "sums of rows");
    }
    bool is_whole() const { return groups_.size() == 1; }
    column_lists<Addends> inverted(const device_rows& group) const {
        return invert<Addends>(place_, group,
                               rows_.offsets[group.first + group.count] - rows_.offsets[group.first],
                               rows_.column_count, units_.data());
    }

    /// Appends the lists of `count` rows of `own` from `from` on; `base`: the entry where the offsets of `own` begin.
    void find_some(const device_rows& own, std::uint64_t base, std::uint32_t from, std::uint32_t count,
                   neighbour_lists& all) {
        const std::uint32_t first = own.first + from;
        const std::size_t pairs = std::size_t{count} * rows_.words;
        const cuda_array<std::uint64_t> shared(
            place_, pairs * (sizeof(typename Addends::sum) / sizeof(std::uint64_t)), "similarities");
        const row_sums sums{shared.data(), rows_.words, pairs};
        place_.fill_bytes(shared.data(), 0, shared.span().size_bytes());
        const std::uint64_t begin = rows_.offsets[first] - base, end = rows_.offsets[first + count] - base;
        for (const word_range& theirs : groups_) {
            place_.ctx().check_stop();
            if (!is_whole()) {
                columns_ = {};  // before the next ones need its memory
                columns_ = inverted(row_group(place_, rows_, theirs.first, theirs.count).view());
            }
            QUERN_LAUNCH(place_, (cuda::launch_shape{cuda::blocks_for(end - begin, warps), threads}),
                         add_shared_kernel<Addends>, own, from, count, begin, end, units_.data(),
                         (column_view<Addends>{columns_.offsets.data(), columns_.words.data(),
                                               columns_.values.data()}),
                         sums);
            place_.synchronise();  // to notice an interruption
        }
        QUERN_LAUNCH(place_, (cuda::launch_shape{cuda::blocks_for(pairs, threads), threads}),
                     score_pairs_kernel<Addends>, sums, first, sums_of_rows_.data());
        const cuda_array<double> best(place_, std::size_t{count} * top_, "neighbours");
        const cuda_array<std::uint32_t> ids(place_, std::size_t{count} * top_, "neighbours");
        primitives::batched_top_k<double>(place_, {reinterpret_cast<const double*>(shared.data()), pairs},
                                          rows_.words, top_, best.span(), ids.span());
        append_positive(place_, best.span(), ids.span(), top_, all);
    }

    cuda_place& place_;
    const fixed_rows& rows_;
    std::uint32_t top_;
    cuda_array<std::uint64_t> sums_of_rows_;
    cuda_array<double> units_;
    portions parts_;
    std::vector<word_range> groups_;
    row_group whole_;  ///< if there is one group
    column_lists<Addends> columns_;
};

}  // namespace

std::unique_ptr<range_search> open_further_search(cuda_place& place, const fixed_rows& rows,
                                                  const similarity_options& options) {
    const std::uint32_t top = std::min(options.top, rows.words - 1);
    return with_addends(options.measure, [&](auto addends) -> std::unique_ptr<range_search> {
        return std::make_unique<further_search<decltype(addends)>>(place, rows, top);
    });
}

neighbour_lists find_by_further_measure(cuda_place& place, const fixed_rows& rows,
                                        const similarity_options& options) {
    return find_automatically(place, rows, options);
}

}  // namespace quern::word_similarity_detail
