// SPDX-License-Identifier: Apache-2.0
// The join by prefixes on a GPU (the filters and their proofs: shingle_join.cpp, docs/near_duplicates_words.md). Records are
// sets in ascending order of size, in tiles of as many as memory holds. Each tile is joined with itself and with the
// smaller ones that sizes allow; one tile suffices if all sets fit.
//
// For two tiles: the prefixes of the smaller sets are sorted by key; each element of a prefix of a larger set finds its
// postings there by binary search; pairs that lengths and positions allow are candidates. Candidates are sorted, made
// unique and decided at once, in parts that fit, so that their number is not limited by memory.
#include <algorithm>
#include <bit>
#include <numeric>
#include <utility>
#include <vector>

#include "device/cuda/check.cuh"
#include "device/progress_meter.hpp"
#include "ops/near_duplicates/duplicate_methods.hpp"
#include "ops/near_duplicates/papers/words/shingle.hpp"
#include "ops/near_duplicates/papers/words/shingle_tile.cuh"
#include "primitives/load_balance/load_balance.hpp"
#include "primitives/scan/scan.hpp"
#include "primitives/select/select.hpp"
#include "primitives/sort/sort.hpp"
#include "quern/base/error.hpp"

namespace quern::near_duplicates_detail {
namespace {

using cuda::blocks_for;
using cuda::launch_shape;

constexpr unsigned block_threads = 256, block_warps = block_threads / 32;
constexpr std::string_view what_for = "a join of shingles";

/// A tile and its prefixes, for kernels. Element e of the prefixes is element e − prefix_offsets[r] of the sorted keys of
/// its record r. Postings are (record in the tile << 32 | position in the order of shingles).
struct join_side {
    tile_sets sets;
    std::uint32_t first, records;
    const std::uint32_t* sizes;
    const std::uint8_t* ages;
    const std::uint64_t* prefix_offsets;
    const std::uint32_t* prefix_records;
    const std::uint64_t* posting_keys;  ///< ascending, with the postings, ascending among equal keys
    const std::uint64_t* postings;
    std::uint64_t elements;
};

struct joined_tile {
    shingle_tile tile;
    cuda_array<std::uint32_t> sizes, prefix_records;
    cuda_array<std::uint8_t> ages;
    cuda_array<std::uint64_t> prefix_offsets, posting_keys, postings;

    join_side side() const {
        return {tile.sets(),           tile.first,          tile.records,
                sizes.data(),          ages.data(),         prefix_offsets.data(),
                prefix_records.data(), posting_keys.data(), postings.data(),
                postings.size()};
    }
};

/// One thread, one record: how many of its sorted keys are in its prefix, which the keys that occur once begin.
__global__ void measure_prefixes_kernel(tile_sets sets, const std::uint32_t* sizes, std::uint32_t records,
                                        similarity_bound bound, std::uint32_t* lengths) {
    const std::uint32_t r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= records) return;
    const std::uint64_t size = sizes[r], before = sets.once[r];
    const std::uint64_t length = size == 0 ? 0 : bound.prefix(size);
    lengths[r] = length <= before ? 0 : static_cast<std::uint32_t>(length - before);
}

/// One thread, one element of the prefixes.
__global__ void write_postings_kernel(tile_sets sets, const std::uint64_t* prefix_offsets,
                                      const std::uint32_t* prefix_records, std::uint64_t elements,
                                      std::uint64_t* keys, std::uint64_t* postings) {
    const std::uint64_t e = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x;
    if (e >= elements) return;
    const std::uint32_t r = prefix_records[e];
    const std::uint64_t k = e - prefix_offsets[r];
    keys[e] = sets.keys[sets.offsets[r] + k];
    postings[e] = std::uint64_t{r} << 32 | (sets.once[r] + k);
}

/// Where candidates go: (record of x << y_bits | record of y), in any order; those past the capacity are only counted.
struct candidate_queue {
    std::uint64_t* pairs;
    std::uint64_t capacity;
    unsigned long long* count;
    unsigned y_bits;
};

/// The postings of y that a posting of x meets: those with its key of smaller records, whose sets are large enough.
struct posting_range {
    std::uint64_t begin, end;
};
__device__ posting_range postings_met(const join_side& y, std::uint64_t key, std::uint64_t first_excluded,
                                      std::uint64_t min_size) {
    std::uint64_t begin = first_not_below(y.posting_keys, 0, y.elements, key), end = y.elements;
    if (key != ~std::uint64_t{0}) end = first_not_below(y.posting_keys, begin, y.elements, key + 1);
    // Postings of a key ascend by record, and records by size.
    end = first_not_below(y.postings, begin, end, first_excluded << 32);
    for (std::uint64_t high = end; begin < high;) {
        const std::uint64_t middle = begin + (high - begin) / 2;
        if (y.sizes[y.postings[middle] >> 32] < min_size)
            begin = middle + 1;
        else
            high = middle;
    }
    return {begin, end};
}

/// One warp, one element of the prefixes of x, so that a long list of postings is read by as many warps as it has elements;
/// its lanes take the postings of y in turns. Of several postings of one record (different shingles with one key) the first
/// leaves the most of the set, so it stands for all. No shared memory.
__global__ void find_candidates_kernel(join_side x, join_side y, std::uint64_t begin, std::uint64_t end,
                                       similarity_bound bound, duplicate_scope scope, candidate_queue queue) {
    const std::uint64_t e = begin + std::uint64_t{blockIdx.x} * block_warps + threadIdx.x / 32;
    if (e >= end) return;
    const unsigned lane = threadIdx.x % 32;
    const std::uint32_t r = x.prefix_records[e];
    const std::uint64_t k = e - x.prefix_offsets[r], x_size = x.sizes[r],
                        x_left = x_size - x.sets.once[r] - k;
    // Records of y before `excluded` are smaller ones than r.
    const std::uint64_t excluded = x.first == y.first ? r : static_cast<std::uint64_t>(y.records);
    const posting_range met =
        postings_met(y, x.sets.keys[x.sets.offsets[r] + k], excluded, bound.min_size(x_size));
    const auto age = static_cast<class_age>(x.ages[r]);
    for (std::uint64_t at = met.begin; at < met.end; at += 32) {
        bool may = at + lane < met.end;
        std::uint64_t other = 0;
        if (may) {
            const std::uint64_t posting = y.postings[at + lane];
            other = posting >> 32;
            const std::uint64_t y_size = y.sizes[other], y_left = y_size - (posting & 0xffffffff);
            const bool is_first = at + lane == met.begin || y.postings[at + lane - 1] >> 32 != other;
            may = is_first && bound.reaches(y_left, 2 * y_size) &&
                  bound.reaches(min(x_left, y_left), x_size + y_size) &&
                  may_pair(age, static_cast<class_age>(y.ages[other]), scope);
        }
        const unsigned passed = __ballot_sync(0xffffffff, may ? 1 : 0);
        if (passed == 0) continue;
        unsigned long long slot = 0;
        if (lane == 0) slot = atomicAdd(queue.count, static_cast<unsigned long long>(__popc(passed)));
        slot = __shfl_sync(0xffffffff, slot, 0) + static_cast<unsigned>(__popc(passed & ((1u << lane) - 1)));
        if (may && slot < queue.capacity) queue.pairs[slot] = std::uint64_t{r} << queue.y_bits | other;
    }
}

/// One thread, one sorted candidate: whether it differs from the one before.
__global__ void mark_first_kernel(const std::uint64_t* pairs, std::uint64_t count, std::uint8_t* is_first) {
    const std::uint64_t i = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x;
    if (i < count) is_first[i] = i == 0 || pairs[i - 1] != pairs[i] ? 1 : 0;
}

/// One warp, one candidate: the number of shingles that the sets share, if it suffices. Lanes take the keys of y in turns and
/// find them in x; equal keys are compared by words. Ends as soon as the rest of y cannot suffice: after few steps for most
/// pairs, since rare shingles come first.
__global__ void intersect_kernel(join_side x, join_side y, const std::uint64_t* pairs, std::uint64_t count,
                                 unsigned y_bits, similarity_bound bound, std::uint32_t* shared,
                                 std::uint8_t* is_pair) {
    const std::uint64_t c = std::uint64_t{blockIdx.x} * block_warps + threadIdx.x / 32;
    if (c >= count) return;
    const unsigned lane = threadIdx.x % 32;
    const auto xr = static_cast<std::uint32_t>(pairs[c] >> y_bits),
               yr = static_cast<std::uint32_t>(pairs[c] & ((std::uint64_t{1} << y_bits) - 1));
    const std::uint64_t x_begin = x.sets.offsets[xr], x_end = x.sets.offsets[xr + 1],
                        y_end = y.sets.offsets[yr + 1];
    const std::uint64_t required = bound.required(std::uint64_t{x.sizes[xr]} + y.sizes[yr]);
    std::uint64_t found = 0;
    for (std::uint64_t at = y.sets.offsets[yr]; at < y_end && found + (y_end - at) >= required; at += 32) {
        bool is_shared = false;
        if (const std::uint64_t j = at + lane; j < y_end) {
            const std::uint64_t key = y.sets.keys[j];
            for (std::uint64_t i = first_not_below(x.sets.keys, x_begin, x_end, key);
                 i < x_end && x.sets.keys[i] == key && !is_shared; ++i)
                is_shared =
                    same_shingle(x.sets.text, xr, x.sets.at[i], y.sets.text, yr, y.sets.at[j], x.sets.width);
        }
        found += static_cast<unsigned>(__popc(__ballot_sync(0xffffffff, is_shared ? 1 : 0)));
    }
    if (lane != 0) return;
    shared[c] = static_cast<std::uint32_t>(found);
    is_pair[c] = found >= required ? 1 : 0;
}

class tiled_join {
  public:
    tiled_join(cuda_place& place, cpu_place& host, const device_shingle_counts& counts_of,
               const shingle_sets& sets, const similarity_bound& bound, const duplicate_scope& scope,
               duplicate_counts& counts)
        : place_(place),
          host_(host),
          counts_of_(counts_of),
          sets_(sets),
          bound_(bound),
          scope_(scope),
          counts_(counts),
          sizes_(sets.sizes),
          classes_(sets.sizes.size()) {
        std::iota(classes_.begin(), classes_.end(), 0u);
        primitives::sort_pairs<std::uint64_t, std::uint32_t>(host_, sizes_, classes_);
        for (const std::uint32_t c : classes_) documents_.push_back(sets.firsts[c]);
    }

    std::vector<class_pair> find() {
        cut_tiles();
        progress_meter meter(place_.ctx(), "compare", sizes_.size(), "documents");
        for (std::size_t i = 0; i + 1 < tiles_.size(); ++i) {
            const joined_tile x = make(i);
            join(x, x);
            for (std::size_t j = i; j-- > 0;) {
                // The sizes of tiles descend from here on.
                if (sizes_[tiles_[j + 1] - 1] < bound_.min_size(sizes_[tiles_[i]])) break;
                const joined_tile y = make(j);
                join(x, y);
            }
            meter.add(tiles_[i + 1] - tiles_[i]);
        }
        meter.finish();
        return class_pairs();
    }

  private:
    /// All sets in one tile if they fit; else tiles of which two fit. A quarter of the memory is for candidates.
    void cut_tiles() {
        const std::uint64_t bytes = place_.memory().left() / 4 * 3;
        tiles_ = {0};
        if (sizes_.empty()) return;
        const bool fits_one = end_of_tile(sets_.documents, documents_, 0, bytes) == documents_.size();
        while (tiles_.back() < documents_.size())
            tiles_.push_back(
                end_of_tile(sets_.documents, documents_, tiles_.back(), fits_one ? bytes : bytes / 2));
    }

    joined_tile make(std::size_t number) {
        const std::size_t begin = tiles_[number], count = tiles_[number + 1] - begin;
        joined_tile made;
        made.tile = make_tile(place_, host_, counts_of_, sets_.documents,
                              std::span(documents_).subspan(begin, count), sets_.rule);
        made.tile.first = static_cast<std::uint32_t>(begin);
        made.tile.hash_sums = {};
        std::vector<std::uint32_t> sizes(sizes_.begin() + static_cast<std::ptrdiff_t>(begin),
                                         sizes_.begin() + static_cast<std::ptrdiff_t>(begin + count));
        std::vector<std::uint8_t> ages;
        for (std::size_t r = begin; r < begin + count; ++r)
            ages.push_back(static_cast<std::uint8_t>(sets_.ages[classes_[r]]));
        made.sizes = array_from<cuda_place, std::uint32_t>(place_, sizes, what_for);
        made.ages = array_from<cuda_place, std::uint8_t>(place_, ages, what_for);
        sort_prefixes(made);
        return made;
    }

    void sort_prefixes(joined_tile& made) {
        const std::uint32_t records = made.tile.records;
        const auto lengths = make_array<std::uint32_t>(place_, records, what_for);
        QUERN_LAUNCH(place_, (launch_shape{blocks_for(records, block_threads), block_threads}),
                     measure_prefixes_kernel, made.tile.sets(), made.sizes.data(), records, bound_,
                     lengths.data());
        made.prefix_offsets = make_array<std::uint64_t>(place_, records + std::size_t{1}, what_for);
        primitives::exclusive_scan<std::uint32_t, std::uint64_t>(place_, lengths.span(),
                                                                 made.prefix_offsets.span());
        std::uint64_t elements = 0;
        copy_out<std::uint64_t>(place_, made.prefix_offsets.span().subspan(records), std::span(&elements, 1));
        made.prefix_records = make_array<std::uint32_t>(place_, elements, what_for);
        primitives::load_balancing_search<std::uint32_t>(place_, made.prefix_offsets.span(),
                                                         made.prefix_records.span());
        made.posting_keys = make_array<std::uint64_t>(place_, elements, what_for);
        made.postings = make_array<std::uint64_t>(place_, elements, what_for);
        QUERN_LAUNCH(place_, (launch_shape{blocks_for(elements, block_threads), block_threads}),
                     write_postings_kernel, made.tile.sets(), made.prefix_offsets.data(),
                     made.prefix_records.data(), elements, made.posting_keys.data(), made.postings.data());
        primitives::sort_pairs<std::uint64_t, std::uint64_t>(place_, made.posting_keys.span(),
                                                             made.postings.span());
    }

    /// Pairs of a set of x and a smaller one of y, which is x or a tile before it.
    void join(const joined_tile& x, const joined_tile& y) {
        constexpr std::uint64_t max_at_once = std::uint64_t{1} << 26, bytes_per_candidate = 48;
        const join_side xs = x.side(), ys = y.side();
        if (xs.elements == 0 || ys.elements == 0) return;
        // One element of a prefix has at most one candidate per record of y.
        const std::uint64_t capacity = std::max<std::uint64_t>(
            std::min(place_.memory().left() / bytes_per_candidate, max_at_once), ys.records);
        const auto pairs = make_array<std::uint64_t>(place_, capacity, what_for);
        const auto count = make_array<std::uint64_t>(place_, 1, what_for);
        const candidate_queue queue{pairs.data(), capacity,
                                    reinterpret_cast<unsigned long long*>(count.data()),
                                    static_cast<unsigned>(std::bit_width(ys.records))};
        std::uint64_t step = xs.elements;
        for (std::uint64_t at = 0; at < xs.elements;) {
            place_.ctx().check_stop();
            constexpr std::uint64_t max_step = std::uint64_t{1} << 30;  // blocks of a grid
            step = std::min({step, xs.elements - at, max_step});
            place_.fill_bytes(count.data(), 0, sizeof(std::uint64_t));
            QUERN_LAUNCH(place_, (launch_shape{blocks_for(step, block_warps), block_threads}),
                         find_candidates_kernel, xs, ys, at, at + step, bound_, scope_, queue);
            std::uint64_t found = 0;
            copy_out<std::uint64_t>(place_, count.span(), std::span(&found, 1));
            if (found > capacity && step > 1) {
                step = std::max<std::uint64_t>(1, step / (found / capacity + 1) / 2);
                continue;
            }
            if (found > capacity) throw out_of_memory(what_for, found * bytes_per_candidate, capacity);
            decide(xs, ys, pairs.span().first(found), queue.y_bits);
            at += step;
            if (found < capacity / 4) step *= 4;
        }
    }

    void decide(const join_side& x, const join_side& y, device_span<std::uint64_t> pairs, unsigned y_bits) {
        if (pairs.empty()) return;
        const auto x_bits = static_cast<unsigned>(std::bit_width(x.records));
        primitives::sort_keys<std::uint64_t>(place_, pairs, {.key_bits = x_bits + y_bits});
        auto flags = make_array<std::uint8_t>(place_, pairs.size(), what_for);
        QUERN_LAUNCH(place_, (launch_shape{blocks_for(pairs.size(), block_threads), block_threads}),
                     mark_first_kernel, pairs.data(), pairs.size(), flags.data());
        const auto different = make_array<std::uint64_t>(place_, pairs.size(), what_for);
        const std::size_t count =
            primitives::compact<std::uint64_t>(place_, pairs, flags.span(), different.span());
        counts_.candidates += count;
        const auto shared = make_array<std::uint32_t>(place_, count, what_for);
        QUERN_LAUNCH(place_, (launch_shape{blocks_for(count, block_warps), block_threads}), intersect_kernel,
                     x, y, different.data(), count, y_bits, bound_, shared.data(), flags.data());
        const auto decided = flags.span().first(count);
        const auto found_shared = make_array<std::uint32_t>(place_, count, what_for);
        const std::size_t found =
            primitives::compact<std::uint64_t>(place_, different.span().first(count), decided, pairs);
        primitives::compact<std::uint32_t>(place_, shared.span(), decided, found_shared.span());
        const auto host_pairs = to_host(place_, pairs.first(found));
        const auto host_shared = to_host(place_, found_shared.span().first(found));
        const std::uint64_t y_mask = (std::uint64_t{1} << y_bits) - 1;
        for (std::size_t i = 0; i < found; ++i)
            found_.emplace_back(
                ((host_pairs[i] >> y_bits) + x.first) << 32 | ((host_pairs[i] & y_mask) + y.first),
                host_shared[i]);
    }

    /// A pair is found again where a record's candidates were cut into parts.
    std::vector<class_pair> class_pairs() {
        std::ranges::sort(found_);
        found_.erase(std::unique(found_.begin(), found_.end()), found_.end());
        std::vector<class_pair> pairs;
        pairs.reserve(found_.size());
        for (const auto& [records, shared] : found_) {
            const auto x = static_cast<std::uint32_t>(records >> 32), y = static_cast<std::uint32_t>(records);
            const std::uint64_t together = sizes_[x] + sizes_[y];
            const auto [a, b] = std::minmax(classes_[x], classes_[y]);
            pairs.push_back({a, b, together - 2 * std::uint64_t{shared}, together - shared});
        }
        return pairs;
    }

    cuda_place& place_;
    cpu_place& host_;
    const device_shingle_counts& counts_of_;
    const shingle_sets& sets_;
    similarity_bound bound_;
    duplicate_scope scope_;
    duplicate_counts& counts_;
    std::vector<std::uint64_t> sizes_;      ///< by record: ascending
    std::vector<std::uint32_t> classes_;    ///< by record
    std::vector<std::uint32_t> documents_;  ///< by record: the first of its class
    std::vector<std::size_t> tiles_;        ///< where each begins, and the end
    /// Records (the larger one << 32 | the smaller one), and the number of shingles that they share.
    std::vector<std::pair<std::uint64_t, std::uint32_t>> found_;
};

}  // namespace

std::vector<duplicate_pair> find_by_shingles(cuda_place& place, const word_list& documents,
                                             const shingle_rule& rule, const decimal& similarity,
                                             const duplicate_scope& scope, duplicate_counts& counts) {
    const auto size = static_cast<std::uint32_t>(documents.size());
    counts.compared += pairs_in_scope(size, scope);
    if (size < 2) return {};
    cpu_place host(place.ctx());
    const device_shingle_counts counts_of(place, host, documents, rule);
    return pairs_by_sets(host, documents, rule, nullptr,
                         measure_sets(place, host, counts_of, documents, rule), scope, counts,
                         [&](const shingle_sets& sets) {
                             const similarity_bound bound{similarity.numerator, similarity.denominator};
                             return tiled_join(place, host, counts_of, sets, bound, scope, counts).find();
                         });
}

std::vector<duplicate_pair> find_by_shingles(cuda_place& place, const word_list& documents,
                                             const duplicate_options& options, const duplicate_scope& scope,
                                             duplicate_counts& counts) {
    return find_by_shingles(place, documents, {options.shingle}, options.similarity, scope, counts);
}

}  // namespace quern::near_duplicates_detail
