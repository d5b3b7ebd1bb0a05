// SPDX-License-Identifier: Apache-2.0
// Keeps the k best documents of each query while its tiles are scored, so that scores are not written and read again.
// - Scores fall into buckets of equal width, the same number for each query; a query counts the documents in each.
// - Once a bucket and those above hold k documents, no document below that bucket is one of the best. The bucket is the
//   query's limit, which grows from tile to tile. Documents not below it are kept; after all tiles, those not below the
//   last limit are sorted.
// - A limit may lag, because blocks run in parallel: then more documents are kept, and the result is the same.
// - If more are kept than fit, or more documents share the last bucket than a block can sort, the query stays undecided and
//   is ranked by all scores.
#pragma once

#include "ops/search/score_tiles.cuh"

namespace quern::search_detail {

constexpr unsigned score_buckets = 1024;
constexpr unsigned max_sorted = 4096;  // 48 KB of shared memory
constexpr unsigned sort_threads = 1024;

/// The kept documents of queries, in device memory. Counts and limits start at 0.
struct kept_on_device {
    std::uint32_t* counts;     ///< score_buckets per query
    std::uint32_t* limits;     ///< one per query: a bucket
    std::uint32_t* found;      ///< one per query: how many were to be kept
    std::int64_t* scores;      ///< `capacity` per query
    std::uint32_t* documents;  ///< their documents
    std::uint32_t capacity, k;
};

__device__ inline std::uint32_t bucket_of(const device_query& query, std::int64_t score) {
    if (score < query.lowest) return 0;
    const std::uint64_t bucket = static_cast<std::uint64_t>(score - query.lowest) >> query.shift;
    return bucket < score_buckets ? static_cast<std::uint32_t>(bucket) : score_buckets - 1;
}

/// Called by a warp: the highest bucket with k documents in it and above; 0 if there are fewer. Valid in every lane. Load
/// reads four counts.
template <class Load>
__device__ std::uint32_t limit_of(const std::uint32_t* counts, std::uint32_t k, Load load) {
    constexpr unsigned mine = score_buckets / 32;
    const unsigned lane = threadIdx.x % 32;
    const auto* const from = reinterpret_cast<const uint4*>(counts + lane * mine);
    uint4 read[mine / 4];
#pragma unroll
    for (unsigned i = 0; i < mine / 4; ++i) read[i] = load(from + i);
    std::uint32_t sum = 0;
#pragma unroll
    for (unsigned i = 0; i < mine / 4; ++i) sum += read[i].x + read[i].y + read[i].z + read[i].w;
    std::uint32_t above = sum;  // of this lane and the later ones
#pragma unroll
    for (unsigned step = 1; step < 32; step *= 2) {
        const std::uint32_t other = __shfl_down_sync(~0u, above, step);
        if (lane + step < 32) above += other;
    }
    const unsigned enough = __ballot_sync(~0u, above >= k);
    if (enough == 0) return 0;
    const unsigned last = 31 - static_cast<unsigned>(__clz(static_cast<int>(enough)));
    std::uint32_t limit = lane * mine;
    std::uint32_t seen = above - sum;
    bool passed = false;
#pragma unroll
    for (unsigned i = mine / 4; i-- > 0;) {
        const std::uint32_t four[4] = {read[i].x, read[i].y, read[i].z, read[i].w};
#pragma unroll
        for (unsigned j = 4; j-- > 0;) {
            seen += four[j];
            if (!passed && seen >= k) {
                passed = true;
                limit += 4 * i + j;
            }
        }
    }
    return __shfl_sync(~0u, limit, last);
}

/// Loads counts of the block itself; load_shared_by_all: counts that other blocks add to, past the first-level cache.
struct load_own {
    __device__ uint4 operator()(const uint4* four) const { return *four; }
};
struct load_shared_by_all {
    __device__ uint4 operator()(const uint4* four) const { return __ldcg(four); }
};

/// The work of score_tiles_kernel on a tile. Shared memory: the buckets' counts.
struct keep_best {
    kept_on_device kept;

    template <class Scorer>
    __device__ void operator()(const device_batch<Scorer>& all, const device_query& query,
                               std::uint32_t which, std::uint64_t begin, std::uint64_t end,
                               const tile_sums* sums) const {
        __shared__ __align__(16) std::uint32_t counts[score_buckets];
        __shared__ std::uint32_t limit;
        if (sums == nullptr) return;
        for (unsigned i = threadIdx.x; i < score_buckets; i += tile_threads) counts[i] = 0;
        if (threadIdx.x == 0) limit = __ldcg(kept.limits + which);
        __syncthreads();
        const std::uint32_t before = limit;
        const auto size = static_cast<unsigned>(end - begin);
        bool some = false;
        for (unsigned i = threadIdx.x; i < size; i += tile_threads) {
            const std::int64_t sum = sums->at(i);
            if (sum == 0) continue;
            const std::uint32_t bucket = bucket_of(query, all.score(query, sum, begin + i));
            if (bucket < before) continue;
            atomicAdd(counts + bucket, 1u);
            some = true;
        }
        if (__syncthreads_or(some) == 0) return;
        if (threadIdx.x < 32) {
            const std::uint32_t here = limit_of(counts, kept.k, load_own());
            if (threadIdx.x == 0 && here > before) limit = here;
        }
        __syncthreads();
        const std::uint32_t least = limit;
        const unsigned lane = threadIdx.x % 32;
        for (unsigned from = threadIdx.x - lane; from < size; from += tile_threads) {  // by whole warps
            const unsigned i = from + lane;
            const std::int64_t sum = i < size ? sums->at(i) : 0;
            const std::int64_t score = sum == 0 ? no_score : all.score(query, sum, begin + i);
            keep(which, sum != 0 && bucket_of(query, score) >= least, static_cast<std::uint32_t>(begin + i),
                 score);
        }
        std::uint32_t* const everywhere = kept.counts + std::size_t{which} * score_buckets;
        for (unsigned i = least + threadIdx.x; i < score_buckets; i += tile_threads)
            if (counts[i] != 0) atomicAdd(everywhere + i, counts[i]);
        __syncthreads();
        if (threadIdx.x < 32) {
            const std::uint32_t seen = limit_of(everywhere, kept.k, load_shared_by_all());
            const std::uint32_t raised = seen > least ? seen : least;
            if (threadIdx.x == 0 && raised > before) atomicMax(kept.limits + which, raised);
        }
    }

    /// Called by a warp: keeps the documents of the lanes where `wanted` is true.
    __device__ void keep(std::uint32_t which, bool wanted, std::uint32_t document, std::int64_t score) const {
        const unsigned lane = threadIdx.x % 32, all = __ballot_sync(~0u, wanted);
        if (all == 0) return;
        std::uint32_t slot = 0;
        if (lane == 0) slot = atomicAdd(kept.found + which, static_cast<std::uint32_t>(__popc(all)));
        slot = __shfl_sync(~0u, slot, 0) + static_cast<std::uint32_t>(__popc(all & ((1u << lane) - 1)));
        if (!wanted || slot >= kept.capacity) return;
        const std::size_t at = std::size_t{which} * kept.capacity + slot;
        kept.scores[at] = score;
        kept.documents[at] = document;
    }
};

/// Block q sorts the documents that query q kept from its last limit on, and writes the first k; no_score past the end.
/// undecided[q] is 1 if that is impossible. Dynamic shared memory: max_sorted scores and documents.
__global__ void __launch_bounds__(sort_threads)
    sort_kept_kernel(const kept_on_device kept, const device_query* queries, std::uint64_t first,
                     std::int64_t* best_scores, std::uint32_t* best_ids, std::uint32_t* undecided) {
    extern __shared__ uint4 sorted_memory[];
    auto* const scores = reinterpret_cast<std::int64_t*>(sorted_memory);
    auto* const documents = reinterpret_cast<std::uint32_t*>(scores + max_sorted);
    __shared__ std::uint32_t limit, size;
    const std::uint32_t which = blockIdx.x;
    const device_query query = queries[which];
    const std::uint32_t found = kept.found[which];
    if (threadIdx.x == 0) size = 0;
    if (threadIdx.x < 32) {
        const std::uint32_t last =
            limit_of(kept.counts + std::size_t{which} * score_buckets, kept.k, load_own());
        if (threadIdx.x == 0) limit = last;
    }
    __syncthreads();
    if (found <= kept.capacity) {
        for (std::uint32_t i = threadIdx.x; i < found; i += sort_threads) {
            const std::size_t at = std::size_t{which} * kept.capacity + i;
            if (bucket_of(query, kept.scores[at]) < limit) continue;
            const std::uint32_t slot = atomicAdd(&size, 1u);
            if (slot >= max_sorted) continue;
            scores[slot] = kept.scores[at];
            documents[slot] = kept.documents[at];
        }
    }
    __syncthreads();
    const std::uint32_t count = size;
    const bool decided = found <= kept.capacity && count <= max_sorted;
    if (threadIdx.x == 0) undecided[which] = decided ? 0 : 1;
    if (!decided) {
        for (std::uint32_t i = threadIdx.x; i < kept.k; i += sort_threads) {
            best_scores[std::size_t{which} * kept.k + i] = no_score;
            best_ids[std::size_t{which} * kept.k + i] = 0;
        }
        return;
    }
    std::uint32_t width = 2;
    while (width < count) width *= 2;
    for (std::uint32_t i = count + threadIdx.x; i < width; i += sort_threads) {
        scores[i] = no_score;
        documents[i] = ~std::uint32_t{0};
    }
    // Bitonic: pairs `step` apart, the better one first, or last where the run of `run` numbers is odd.
    for (std::uint32_t run = 2; run <= width; run *= 2) {
        for (std::uint32_t step = run / 2; step != 0; step /= 2) {
            __syncthreads();
            for (std::uint32_t i = threadIdx.x; i < width / 2; i += sort_threads) {
                const std::uint32_t a = 2 * i - i % step, b = a + step;
                const bool after =
                    scores[a] < scores[b] || (scores[a] == scores[b] && documents[a] > documents[b]);
                if (after != ((a & run) != 0)) {
                    const std::int64_t score = scores[a];
                    scores[a] = scores[b];
                    scores[b] = score;
                    const std::uint32_t document = documents[a];
                    documents[a] = documents[b];
                    documents[b] = document;
                }
            }
        }
    }
    __syncthreads();
    for (std::uint32_t i = threadIdx.x; i < kept.k; i += sort_threads) {
        const std::size_t to = std::size_t{which} * kept.k + i;
        best_scores[to] = i < count ? scores[i] : no_score;
        best_ids[to] = i < count ? static_cast<std::uint32_t>(documents[i] - first) : 0;
    }
}

}  // namespace quern::search_detail
