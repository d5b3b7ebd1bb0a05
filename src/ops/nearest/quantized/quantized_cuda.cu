// SPDX-License-Identifier: Apache-2.0
// The k best rows of a tile for many queries on the GPU, by the filter (quantized_cuda_filter.cu) and exact distances.
// - The exact distances of a sample of rows give every query a first limit.
// - Then the rows are processed in rounds, each eight times as large as the previous one and spread over the whole tile.
//   The filter lists the rows that may be among the k best, these get exact distances, and the k best so far give the next
//   limit. So a round lists about eight k rows per query, for any number of rows.
// - A query whose list is too short repeats its round with the tighter limit that the list gave. If that does not help,
//   distances to all rows are computed for it.
//
// The order in which a list arose does not matter: it is sorted by row, and repeated rows are removed, before the k best
// are selected by key and, among equal keys, by position, which then means by row.
#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "device/cuda/check.cuh"
#include "ops/nearest/quantized/quantized_cuda.cuh"
#include "primitives/select/select.hpp"
#include "primitives/sort/sort.hpp"
#include "primitives/top_k/top_k.hpp"
#include "quern/base/error.hpp"

namespace quern::nearest_detail {
namespace {

constexpr unsigned block_threads = 256;

// ---- Kernels: one thread per item, any grid that covers them, no shared memory ----

__device__ std::uint64_t this_thread() {
    return std::uint64_t{blockIdx.x} * block_threads + threadIdx.x;
}
cuda::launch_shape shape_for(std::uint64_t items) {
    return {dim3(cuda::blocks_for(items, block_threads)), dim3(block_threads)};
}

__global__ void flag_allowed_kernel(const std::uint64_t* allowed, std::uint32_t rows, std::uint8_t* flags) {
    const std::uint64_t row = this_thread();
    if (row < rows) flags[row] = allowed[row / 64] >> (row % 64) & 1;
}

/// Evenly spread over `available` rows: the listed ones, or (null) the first ones.
__global__ void sample_rows_kernel(const std::uint32_t* listed, std::uint32_t available, std::uint32_t size,
                                   std::uint32_t* sample) {
    const std::uint64_t i = this_thread();
    if (i >= size) return;
    const auto at = static_cast<std::uint32_t>(i * available / size);
    sample[i] = listed != nullptr ? listed[at] : at;
}

/// Replaces columns of a list by the rows listed there: `columns` per query, or (0) one list for all queries.
__global__ void name_rows_kernel(const std::uint32_t* listed, std::uint64_t columns, std::uint32_t k,
                                 std::uint64_t size, std::uint32_t* ids) {
    const std::uint64_t i = this_thread();
    if (i < size) ids[i] = listed[i / k * columns + ids[i]];
}

template <class Key>
__global__ void set_limits_kernel(quantized_kind kind, const query_terms* queries, const Key* keys,
                                  std::uint32_t k, std::uint32_t count, const std::uint8_t* wanted,
                                  filter_terms* terms) {
    const std::uint64_t q = this_thread();
    if (q >= count) return;
    const query_terms query = queries[q];
    const float limit = wanted[q] != 0 ? limit_of_key(kind, query, keys[q * k + k - 1])
                                       : std::numeric_limits<float>::infinity();
    terms[q] = filter_terms_of(query, limit);
}

/// The rows found by a round and the previous ones, and the start of each query's: `columns` per query, no_row past the
/// end.
struct candidate_lists {
    const std::uint32_t* counts;
    const std::uint32_t* found;
    std::uint32_t capacity, k, columns;
    std::uint32_t queries;
    const std::uint32_t* best;  ///< k per query
};
__global__ void gather_candidates_kernel(candidate_lists lists, std::uint32_t* rows, std::uint64_t* offsets) {
    const std::uint64_t i = this_thread();
    if (i <= lists.queries) offsets[i] = i * lists.columns;
    if (i >= std::uint64_t{lists.queries} * lists.columns) return;
    const std::uint64_t q = i / lists.columns;
    const auto at = static_cast<std::uint32_t>(i % lists.columns);
    std::uint32_t row = no_row;
    if (at < lists.k)
        row = lists.best[q * lists.k + at];
    else if (at - lists.k < min(lists.counts[q], lists.capacity))
        row = lists.found[q * lists.capacity + at - lists.k];
    rows[i] = row;
}

/// Query above row; skips rows already there.
__global__ void pair_up_kernel(const std::uint32_t* rows, std::uint32_t columns, std::uint64_t size,
                               std::uint64_t* pairs) {
    const std::uint64_t i = this_thread();
    if (i >= size) return;
    const bool again = i % columns != 0 && rows[i] == rows[i - 1];
    pairs[i] = i / columns << 32 | (again ? no_row : rows[i]);
}

/// Gathers scattered queries contiguously. One thread per byte.
__global__ void gather_queries_kernel(const std::byte* from, const double* squares, std::uint64_t stride,
                                      const std::uint32_t* which, std::uint32_t count, std::byte* to,
                                      double* squares_to) {
    const std::uint64_t i = this_thread();
    if (i >= count * stride) return;
    to[i] = from[which[i / stride] * stride + i % stride];
    if (squares != nullptr && i % stride == 0) squares_to[i / stride] = squares[which[i / stride]];
}

template <class Key>
__global__ void scatter_results_kernel(const Key* keys, const std::uint32_t* ids, const std::uint32_t* which,
                                       std::uint32_t k, std::uint64_t size, Key* keys_to,
                                       std::uint32_t* ids_to) {
    const std::uint64_t i = this_thread();
    if (i >= size) return;
    const std::uint64_t to = std::uint64_t{which[i / k]} * k + i % k;
    keys_to[to] = keys[i];
    ids_to[to] = ids[i];
}

// ---- The search ----

row_tile<cuda_place> some_of(const row_tile<cuda_place>& rows, std::uint32_t first, std::uint32_t count) {
    row_tile<cuda_place> some = rows;
    some.rows = count;
    some.values = rows.values.subspan(first * rows.stride, count * rows.stride);
    if (!rows.squares.empty()) some.squares = rows.squares.subspan(first, count);
    return some;
}

template <class Key>
class quantized_search {
  public:
    quantized_search(cuda_place& place, const row_tile<cuda_place>& tile,
                     const quantized_rows<cuda_place>::state& quantized, vector_metric metric,
                     std::uint32_t k, device_span<const std::uint64_t> allowed)
        : place_(place),
          tile_(tile),
          quantized_(quantized),
          metric_(metric),
          k_(k),
          allowed_(allowed),
          available_(tile.rows) {
        if (allowed.empty()) return;
        const cuda_array<std::uint8_t> flags(place, tile.rows, "which rows are allowed");
        QUERN_LAUNCH(place, shape_for(tile.rows), flag_allowed_kernel, allowed.data(), tile.rows,
                     flags.data());
        listed_ = cuda_array<std::uint32_t>(place, tile.rows, "the rows that are allowed");
        available_ = static_cast<std::uint32_t>(primitives::compact_positions(
            place, device_span<const std::uint8_t>(flags.span()), listed_.span()));
    }

    /// For any number of queries.
    void rank(const row_tile<cuda_place>& queries, device_span<Key> keys, device_span<std::uint32_t> ids) {
        if (!filter_pays()) return rank_exactly(queries, keys, ids);
        const std::uint32_t batch = batch_size();
        for (std::uint32_t first = 0; first < queries.rows; first += batch) {
            place_.ctx().check_stop();
            const std::uint32_t count = std::min(batch, queries.rows - first);
            rank_batch(some_of(queries, first, count), results_of(keys, first, count),
                       results_of(ids, first, count));
        }
    }
    const filter_counts& counts() const { return counts_; }

  private:
    static constexpr std::uint32_t min_rows = 4096;  // with fewer, distances are faster than a limit
    static constexpr std::uint32_t min_sampled = 1024, usual_sampled = 4096;
    static constexpr std::uint32_t sampled_share = 8;   // of the rows, maximum
    static constexpr std::uint32_t sampled_of_k = 4;    // k, minimum
    static constexpr std::uint32_t first_round = 24;    // of the sample's size, maximum
    static constexpr std::uint32_t capacity_of_k = 48;  // k: three times the result of a first round
    static constexpr std::uint32_t max_queries = 2048;  // at once
    static constexpr unsigned attempts = 2;

    /// Not if most rows must be read anyway, or so few are allowed that reading all of them costs more.
    bool filter_pays() const {
        return available_ >= min_rows && available_ / 32 >= tile_.rows / 1024 && available_ / 32 >= k_;
    }
    std::uint32_t sampled() const {
        const std::uint32_t usual =
            std::max(min_sampled, std::min(usual_sampled, available_ / sampled_share));
        return std::max(usual, sampled_of_k * k_);
    }
    std::uint32_t capacity() const {
        return static_cast<std::uint32_t>(
            std::min<std::uint64_t>(std::uint64_t{capacity_of_k} * k_ + 1024, tile_.rows));
    }
    std::uint32_t batch_size() const {
        const std::uint64_t a_query = std::uint64_t{capacity()} * 4 +
                                      std::uint64_t{sampled()} * (sizeof(Key) + 24) +
                                      std::uint64_t{tile_.dimensions} + 1024;
        return static_cast<std::uint32_t>(
            std::clamp<std::uint64_t>(place_.memory().left() / 4 / a_query, 1, max_queries));
    }
    template <class T>
    device_span<T> results_of(device_span<T> all, std::uint32_t first, std::uint32_t count) const {
        return all.subspan(std::size_t{first} * k_, std::size_t{count} * k_);
    }

    /// The best of a list of rows that all queries share (none: all rows), in as many steps as memory requires.
    void rank_listed(const row_tile<cuda_place>& queries, device_span<const std::uint32_t> rows,
                     device_span<Key> keys, device_span<std::uint32_t> ids) {
        const std::uint64_t columns = rows.empty() ? tile_.rows : rows.size();
        const std::uint64_t a_query = columns * (sizeof(Key) + 32);
        const auto batch = static_cast<std::uint32_t>(
            std::clamp<std::uint64_t>(place_.memory().left() / 4 / a_query, 1, queries.rows));
        const cuda_array<Key> all(place_, columns * batch, "distances");
        for (std::uint32_t first = 0; first < queries.rows; first += batch) {
            place_.ctx().check_stop();
            const std::uint32_t count = std::min(batch, queries.rows - first);
            const auto these = all.span().first(columns * count);
            distance_keys<Key>(place_, tile_, some_of(queries, first, count), metric_, rows, these);
            primitives::batched_top_k<Key>(place_, these, columns, k_, results_of(keys, first, count),
                                           results_of(ids, first, count), primitives::best::least);
        }
        counts_.confirmed += columns * queries.rows;
        if (rows.empty()) return;
        QUERN_LAUNCH(place_, shape_for(ids.size()), name_rows_kernel, rows.data(), 0, k_, ids.size(),
                     ids.data());
    }
    void rank_exactly(const row_tile<cuda_place>& queries, device_span<Key> keys,
                      device_span<std::uint32_t> ids) {
        rank_listed(queries,
                    allowed_.empty() ? device_span<const std::uint32_t>() : listed_.span().first(available_),
                    keys, ids);
    }
    void rank_sample(const row_tile<cuda_place>& queries, device_span<Key> keys,
                     device_span<std::uint32_t> ids) {
        const cuda_array<std::uint32_t> sample(place_, sampled(), "a sample of rows");
        QUERN_LAUNCH(place_, shape_for(sample.size()), sample_rows_kernel, listed_.data(), available_,
                     static_cast<std::uint32_t>(sample.size()), sample.data());
        rank_listed(queries, sample.span(), keys, ids);
    }

    /// The k best of a round's rows and the previous k best, which they replace.
    void confirm(const row_tile<cuda_place>& queries, const filter_work& work,
                 const std::vector<std::uint32_t>& counts, device_span<Key> keys,
                 device_span<std::uint32_t> ids) {
        std::uint32_t max = 0;
        for (const std::uint32_t count : counts) {
            max = std::max(max, std::min(count, work.capacity));
            counts_.confirmed += std::min(count, work.capacity) + k_;
        }
        if (max == 0) return;
        const std::uint32_t columns = k_ + max;
        const std::uint64_t a_query = std::uint64_t{columns} * (2 * sizeof(Key) + 48);
        const auto batch = static_cast<std::uint32_t>(
            std::clamp<std::uint64_t>(place_.memory().left() / 2 / a_query, 1, queries.rows));
        for (std::uint32_t first = 0; first < queries.rows; first += batch) {
            const std::uint32_t count = std::min(batch, queries.rows - first);
            const auto best = results_of(ids, first, count);
            confirm_lists(some_of(queries, first, count),
                          {work.counts + first, work.found + std::uint64_t{first} * work.capacity,
                           work.capacity, k_, columns, count, best.data()},
                          results_of(keys, first, count), best);
        }
    }
    void confirm_lists(const row_tile<cuda_place>& queries, const candidate_lists& lists,
                       device_span<Key> keys, device_span<std::uint32_t> ids) {
        const std::uint64_t size = std::uint64_t{lists.queries} * lists.columns;
        const cuda_array<std::uint32_t> rows(place_, size, "candidates");
        const cuda_array<std::uint64_t> offsets(place_, std::size_t{lists.queries} + 1,
                                                "where candidates begin");
        QUERN_LAUNCH(place_, shape_for(std::max<std::uint64_t>(size, offsets.size())),
                     gather_candidates_kernel, lists, rows.data(), offsets.data());
        primitives::segmented_sort_keys<std::uint32_t>(place_, rows.span(), offsets.span());
        const cuda_array<std::uint64_t> pairs(place_, size, "pairs of candidates");
        QUERN_LAUNCH(place_, shape_for(size), pair_up_kernel, rows.data(), lists.columns, size, pairs.data());
        const cuda_array<Key> candidates(place_, size, "distances of candidates");
        distance_keys_of_pairs<Key>(place_, tile_, queries, metric_, pairs.span(), candidates.span());
        primitives::batched_top_k<Key>(place_, candidates.span(), lists.columns, k_, keys, ids,
                                       primitives::best::least);
        QUERN_LAUNCH(place_, shape_for(ids.size()), name_rows_kernel, rows.data(), lists.columns, k_,
                     ids.size(), ids.data());
    }

    /// The first round's stride over tiles of rows.
    std::uint32_t first_stride(std::uint64_t tiles) const {
        std::uint32_t stride = 1;
        const std::uint64_t max = std::uint64_t{first_round} * sampled() / quantized_tile_rows;
        while (tiles / stride > max && tiles / stride >= tile_round::growth) stride *= tile_round::growth;
        return stride;
    }

    /// One round for the wanted queries. Those whose list overflows a second time are no longer wanted.
    void go_round(const row_tile<cuda_place>& queries, device_span<const query_terms> terms,
                  filter_work& work, device_span<filter_terms> limits, std::vector<std::uint8_t>& wanted,
                  device_span<Key> keys, device_span<std::uint32_t> ids) {
        std::vector<std::uint8_t> now = wanted;
        for (unsigned attempt = 0; attempt < attempts; ++attempt) {
            const auto requested = static_cast<std::uint64_t>(std::count(now.begin(), now.end(), 1));
            if (requested == 0) return;
            const auto device_wanted = array_from(place_, std::span<const std::uint8_t>(now));
            QUERN_LAUNCH(place_, shape_for(queries.rows), set_limits_kernel<Key>, quantized_.kind,
                         terms.data(), keys.data(), k_, queries.rows, device_wanted.data(), limits.data());
            place_.fill_bytes(work.counts, 0, std::size_t{queries.rows} * sizeof(std::uint32_t));
            find_candidates(place_, work);
            const std::uint64_t rows =
                std::min<std::uint64_t>(std::uint64_t{work.round.tiles} * quantized_tile_rows, tile_.rows);
            counts_.filtered += requested * rows;
            const auto counts = to_host(place_, device_span<const std::uint32_t>(work.counts, queries.rows));
            confirm(queries, work, counts, keys, ids);
            for (std::uint32_t q = 0; q < queries.rows; ++q) now[q] = counts[q] > work.capacity;
        }
        for (std::uint32_t q = 0; q < queries.rows; ++q)
            if (now[q] != 0) wanted[q] = 0;
    }

    void rank_batch(const row_tile<cuda_place>& queries, device_span<Key> keys,
                    device_span<std::uint32_t> ids) {
        const unsigned tile_queries = filter_queries(queries.rows);
        const cuda_array<uint4> codes(place_, code_size(queries.rows, quantized_.steps, tile_queries),
                                      "the codes of queries");
        const cuda_array<query_terms> terms(place_, tiles_of(queries.rows, tile_queries) * tile_queries,
                                            "the terms of queries");
        code_rows(place_, queries, quantized_.kind, quantized_.centre.span(), tile_queries, codes.span(), {},
                  terms.span());
        rank_sample(queries, keys, ids);

        const cuda_array<filter_terms> limits(place_, queries.rows, "the limits of queries");
        const cuda_array<std::uint32_t> counts(place_, queries.rows, "how many candidates there are");
        const cuda_array<std::uint32_t> found(place_, std::size_t{queries.rows} * capacity(), "candidates");
        filter_work work;
        work.row_codes = quantized_.codes.data();
        work.rows = quantized_.terms.data();
        work.row_count = tile_.rows;
        work.steps = quantized_.steps;
        work.query_codes = codes.data();
        work.queries = limits.data();
        work.query_count = queries.rows;
        work.allowed = allowed_.data();
        work.counts = counts.data();
        work.found = found.data();
        work.capacity = capacity();
        std::vector<std::uint8_t> wanted(queries.rows, 1);
        const std::uint64_t tiles = tiles_of(tile_.rows, quantized_tile_rows);
        const auto every = [&](std::uint64_t stride) {
            return static_cast<std::uint32_t>((tiles + stride - 1) / stride);
        };
        const std::uint32_t widest = first_stride(tiles);
        for (std::uint32_t stride = widest; stride != 0; stride /= tile_round::growth) {
            place_.ctx().check_stop();
            const bool first = stride == widest;
            const std::uint64_t before = std::uint64_t{stride} * tile_round::growth;
            work.round = {stride, first, every(stride) - (first ? 0 : every(before))};
            go_round(queries, terms.span(), work, limits.span(), wanted, keys, ids);
        }
        rank_unfiltered(queries, wanted, keys, ids);
    }

    /// Ranks exactly those that are not `filtered`.
    void rank_unfiltered(const row_tile<cuda_place>& queries, const std::vector<std::uint8_t>& filtered,
                         device_span<Key> keys, device_span<std::uint32_t> ids) {
        std::vector<std::uint32_t> which;
        for (std::uint32_t q = 0; q < queries.rows; ++q)
            if (filtered[q] == 0) which.push_back(q);
        if (which.empty()) return;
        const auto count = static_cast<std::uint32_t>(which.size());
        if (count == queries.rows) return rank_exactly(queries, keys, ids);
        const auto device_which = array_from(place_, std::span<const std::uint32_t>(which));
        const cuda_array<std::byte> values(place_, count * queries.stride, "queries that no filter helps");
        const cuda_array<double> squares(place_, queries.squares.empty() ? 0 : count,
                                         "their sums of squares");
        QUERN_LAUNCH(place_, shape_for(values.size()), gather_queries_kernel, queries.values.data(),
                     queries.squares.data(), queries.stride, device_which.data(), count, values.data(),
                     squares.data());
        row_tile<cuda_place> some = queries;
        some.rows = count;
        some.values = values.span();
        some.squares = squares.span();
        const cuda_array<Key> best_keys(place_, which.size() * k_, "distances");
        const cuda_array<std::uint32_t> best_ids(place_, which.size() * k_, "their rows");
        rank_exactly(some, best_keys.span(), best_ids.span());
        QUERN_LAUNCH(place_, shape_for(best_ids.size()), scatter_results_kernel<Key>, best_keys.data(),
                     best_ids.data(), device_which.data(), k_, best_ids.size(), keys.data(), ids.data());
    }

    cuda_place& place_;
    const row_tile<cuda_place>& tile_;
    const quantized_rows<cuda_place>::state& quantized_;
    vector_metric metric_;
    std::uint32_t k_;
    device_span<const std::uint64_t> allowed_;
    std::uint32_t available_;           ///< rows that are allowed
    cuda_array<std::uint32_t> listed_;  ///< these, unless all are
    filter_counts counts_;
};

}  // namespace

template <class Key>
filter_counts quantized_top_k(cuda_place& place, const row_tile<cuda_place>& tile,
                              const quantized_rows<cuda_place>& quantized,
                              const row_tile<cuda_place>& queries, vector_metric metric, std::uint32_t k,
                              device_span<const std::uint64_t> allowed, device_span<Key> keys,
                              device_span<std::uint32_t> ids) {
    if (k == 0 || queries.rows == 0) return {};
    quantized_search<Key> search(place, tile, quantized.get(), metric, k, allowed);
    search.rank(queries, keys, ids);
    place.synchronise();
    return search.counts();
}
template filter_counts quantized_top_k(cuda_place&, const row_tile<cuda_place>&,
                                       const quantized_rows<cuda_place>&, const row_tile<cuda_place>&,
                                       vector_metric, std::uint32_t, device_span<const std::uint64_t>,
                                       device_span<std::uint32_t>, device_span<std::uint32_t>);
template filter_counts quantized_top_k(cuda_place&, const row_tile<cuda_place>&,
                                       const quantized_rows<cuda_place>&, const row_tile<cuda_place>&,
                                       vector_metric, std::uint32_t, device_span<const std::uint64_t>,
                                       device_span<std::uint64_t>, device_span<std::uint32_t>);

}  // namespace quern::nearest_detail
