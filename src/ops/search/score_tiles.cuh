// SPDX-License-Identifier: Apache-2.0
// Scores a batch of queries on a GPU, one tile of documents at a time.
// - A block adds up one query's words over a few tiles, one after another: the sums of a tile are in shared memory, a warp
//   takes a block of 128 postings.
// - Sums are integers, so warps may add in any order. A sum is two 32-bit words with the processor's own atomics; the carry
//   of the lower goes to the upper, whichever thread caused it.
// - Nothing is pruned: the postings are packed in two bytes each, and looking up a bound is as slow as adding a posting.
#pragma once

#include <cstdint>

#include "device/cuda/check.cuh"
#include "ops/search/device_collection.hpp"
#include "ops/search/packed_lists.hpp"
#include "ops/search/scoring.hpp"

namespace quern::search_detail {

/// A list in device memory.
struct device_list {
    const packed_block* blocks = nullptr;  ///< the numbers follow them
    std::uint32_t size = 0;                ///< blocks
    std::uint32_t max_frequency = 0, min_length = 0;
};

/// A list to add up for one query: a word's documents by the model, or those with it in the title by one part.
template <class Scorer>
struct device_word {
    Scorer scorer;
    std::int64_t count, constant;  ///< constant 0: the model's part
    const packed_block* blocks;
    std::uint32_t size;

    constexpr std::int64_t part(std::uint32_t frequency, std::uint32_t length) const {
        return count * (constant != 0 ? constant : scorer.part(frequency, length));
    }
};

struct device_query {
    std::uint32_t first_word, words;
    std::int64_t background, query_words;
    std::int64_t lowest;  ///< bucket b of the query's scores begins at lowest + b 2^shift (keep_best.cuh)
    std::uint32_t shift;
};

template <class Scorer>
struct device_batch {
    const device_word<Scorer>* words;
    const device_query* queries;
    const std::uint32_t* lengths;      ///< of the documents from `first` on
    const std::int64_t* length_parts;  ///< of these lengths by the model; null if it has none
    std::uint64_t first, last;         ///< documents of the range
    std::uint32_t pieces;              ///< of a query: blocks
    std::uint32_t tiles;               ///< of a piece

    __device__ std::int64_t score(const device_query& query, std::int64_t sum, std::uint64_t document) const {
        sum += query.background;
        if constexpr (Scorer::length_model::used) sum -= query.query_words * length_parts[document - first];
        return sum;
    }
};

constexpr unsigned tile_documents = 4096;
constexpr unsigned tile_threads = 256;
constexpr unsigned tile_warps = tile_threads / 32;

/// The sums of a tile. An exact sum modulo 2^64 is the sum.
struct tile_sums {
    std::uint32_t low[tile_documents], high[tile_documents];

    __device__ void add(unsigned at, std::int64_t part) {
        const auto bits = static_cast<std::uint64_t>(part);
        const auto lower = static_cast<std::uint32_t>(bits);
        auto upper = static_cast<std::uint32_t>(bits >> 32);
        const std::uint32_t before = atomicAdd(low + at, lower);
        if (before + lower < before) ++upper;  // a carry
        if (upper != 0) atomicAdd(high + at, upper);
    }
    __device__ std::int64_t at(unsigned position) const {
        return static_cast<std::int64_t>(std::uint64_t{high[position]} << 32 | low[position]);
    }
};

/// Called by a warp: the first block that ends at or after `document`; `size` if none does. Valid in every lane.
__device__ inline std::uint32_t find_block(const packed_block* blocks, std::uint32_t size,
                                           std::uint64_t document) {
    const unsigned lane = threadIdx.x % 32;
    std::uint32_t low = 0, high = size;  // blocks before `low` end before the document, `high` does not
    while (low < high) {
        const std::uint32_t step = (high - low - 1) / 32 + 1;
        const std::uint64_t at = low + (lane + std::uint64_t{1}) * step - 1;
        const bool below = at < high && blocks[at].last < document;
        const auto passed = static_cast<std::uint32_t>(__popc(__ballot_sync(~0u, below)));
        const std::uint64_t next = low + (passed + std::uint64_t{1}) * step - 1;
        if (passed < 32 && next < high) high = static_cast<std::uint32_t>(next);
        const std::uint64_t from = low + std::uint64_t{passed} * step;
        low = from < high ? static_cast<std::uint32_t>(from) : high;
    }
    return low;
}

/// Called by a warp: how many blocks from `position` on may have documents below `end`. Valid in every lane.
__device__ inline std::uint32_t count_blocks(const packed_block* blocks, std::uint32_t size,
                                             std::uint32_t position, std::uint64_t end) {
    const unsigned lane = threadIdx.x % 32;
    std::uint32_t count = 0;
    for (;;) {
        const std::uint64_t at = std::uint64_t{position} + count + lane;
        const bool within = at < size && blocks[at].lowest < end;
        const auto more = static_cast<std::uint32_t>(__popc(__ballot_sync(~0u, within)));
        count += more;
        if (more < 32) return count;
    }
}

/// Called by a warp: calls use(document, frequency) for the postings of a block, each in one lane.
template <class Use>
__device__ void for_each_posting(const packed_block& block, const packed_unit* numbers, Use use) {
    const unsigned lane = threadIdx.x % 32;
    const packed_unit* const units = numbers + block.at;
    const packed_unit gaps = packed_row(units, block.gap_width, lane);
    const packed_unit extras = packed_row(units + block.gap_width, block.frequency_width, lane);
    // The distance of each posting from the lowest possible first one, plus one for itself.
    std::uint32_t until[4];
    std::uint32_t sum = 0;
#pragma unroll
    for (unsigned i = 0; i < 4; ++i) until[i] = sum += gaps.lanes[i] + 1;
    std::uint32_t before = sum;
#pragma unroll
    for (unsigned step = 1; step < 32; step *= 2) {
        const std::uint32_t other = __shfl_up_sync(~0u, before, step);
        if (lane >= step) before += other;
    }
    before += block.lowest - sum;
#pragma unroll
    for (unsigned i = 0; i < 4; ++i) {
        if (4 * lane + i < block.size) use(before + until[i] - 1, extras.lanes[i] + 1);
    }
}

/// Called by warp 0, when all counts are there: prefix sums in place, counts[w] becomes the sum up to w.
__device__ inline void add_up(std::uint32_t* counts, std::uint32_t size) {
    const unsigned lane = threadIdx.x % 32;
    std::uint32_t carried = 0;
    for (std::uint32_t from = 0; from < size; from += 32) {
        std::uint32_t sum = from + lane < size ? counts[from + lane] : 0;
#pragma unroll
        for (unsigned step = 1; step < 32; step *= 2) {
            const std::uint32_t other = __shfl_up_sync(~0u, sum, step);
            if (lane >= step) sum += other;
        }
        sum += carried;
        if (from + lane < size) counts[from + lane] = sum;
        carried = __shfl_sync(~0u, sum, 31);
    }
}

/// The words of a block's query, and how far their lists have been read. `positions` and `ends` are in shared memory, one
/// number per word each: the first block of the tile, and the prefix sum of the blocks that words have in the tile.
template <class Scorer>
struct word_lists {
    const device_word<Scorer>* words;
    std::uint32_t size;
    std::uint32_t *positions, *ends;

    __device__ void seek(std::uint64_t document) {
        for (std::uint32_t w = threadIdx.x / 32; w < size; w += tile_warps) {
            const std::uint32_t found = find_block(words[w].blocks, words[w].size, document);
            if (threadIdx.x % 32 == 0) positions[w] = found;
        }
    }
    __device__ void count(std::uint64_t end) {
        for (std::uint32_t w = threadIdx.x / 32; w < size; w += tile_warps) {
            const std::uint32_t found = count_blocks(words[w].blocks, words[w].size, positions[w], end);
            if (threadIdx.x % 32 == 0) ends[w] = found;
        }
    }
    /// Moves to the first blocks that end at or after `end`.
    __device__ void pass(std::uint64_t end) {
        for (std::uint32_t w = threadIdx.x; w < size; w += tile_threads) {
            const std::uint32_t here = ends[w] - (w == 0 ? 0 : ends[w - 1]);
            if (here == 0) continue;
            const std::uint32_t last = positions[w] + here - 1;
            positions[w] = words[w].blocks[last].last < end ? last + 1 : last;
        }
    }
    /// The word of the tile's j-th block.
    __device__ std::uint32_t word_of(std::uint32_t j) const {
        std::uint32_t low = 0, high = size - 1;
        while (low < high) {
            const std::uint32_t middle = (low + high) / 2;
            if (ends[middle] <= j)
                low = middle + 1;
            else
                high = middle;
        }
        return low;
    }
};

/// Block b takes piece b % pieces of query b / pieces: its tiles, ascending. A warp takes a block of postings. When a
/// tile's sums are complete, all threads call finish(all, query, which, begin, end, sums); `sums` is null if no word is in
/// the tile. Dynamic shared memory: two numbers per word of the longest query.
template <class Scorer, class Finish>
__global__ void __launch_bounds__(tile_threads, 5)
    score_tiles_kernel(const device_batch<Scorer> all, const Finish finish) {
    __shared__ tile_sums sums;
    extern __shared__ std::uint32_t memory[];
    const std::uint32_t which = blockIdx.x / all.pieces;
    const device_query query = all.queries[which];
    word_lists<Scorer> lists{all.words + query.first_word, query.words, memory, memory + query.words};
    std::uint64_t begin = all.first + std::uint64_t{blockIdx.x % all.pieces} * all.tiles * tile_documents;
    lists.seek(begin);
    __syncthreads();
    for (std::uint32_t tile = 0; tile < all.tiles && begin < all.last; ++tile) {
        const std::uint64_t end = begin + tile_documents < all.last ? begin + tile_documents : all.last;
        lists.count(end);
        for (unsigned i = threadIdx.x; i < tile_documents; i += tile_threads) sums.low[i] = sums.high[i] = 0;
        __syncthreads();
        if (threadIdx.x < 32) add_up(lists.ends, lists.size);
        __syncthreads();
        const std::uint32_t blocks = lists.size == 0 ? 0 : lists.ends[lists.size - 1];
        for (std::uint32_t j = threadIdx.x / 32; j < blocks; j += tile_warps) {
            const std::uint32_t w = lists.word_of(j);
            const device_word<Scorer> word = lists.words[w];
            const std::uint32_t of_word = j - (w == 0 ? 0 : lists.ends[w - 1]);
            const packed_block block = word.blocks[lists.positions[w] + of_word];
            const auto* const numbers = reinterpret_cast<const packed_unit*>(word.blocks + word.size);
            for_each_posting(block, numbers, [&](std::uint32_t document, std::uint32_t frequency) {
                if (document < begin || document >= end) return;
                sums.add(static_cast<unsigned>(document - begin),
                         word.part(frequency, all.lengths[document - all.first]));
            });
        }
        __syncthreads();
        finish(all, query, which, begin, end, blocks == 0 ? nullptr : &sums);
        lists.pass(end);
        __syncthreads();
        begin = end;
    }
}

/// Writes every document's score, one row per query.
struct write_scores {
    std::int64_t* scores;

    template <class Scorer>
    __device__ void operator()(const device_batch<Scorer>& all, const device_query& query,
                               std::uint32_t which, std::uint64_t begin, std::uint64_t end,
                               const tile_sums* sums) const {
        std::int64_t* const row = scores + which * (all.last - all.first);
        for (std::uint64_t document = begin + threadIdx.x; document < end; document += tile_threads) {
            const std::int64_t sum = sums == nullptr ? 0 : sums->at(static_cast<unsigned>(document - begin));
            row[document - all.first] = sum == 0 ? no_score : all.score(query, sum, document);
        }
    }
};

}  // namespace quern::search_detail
