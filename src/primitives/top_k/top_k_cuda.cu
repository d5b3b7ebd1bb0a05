// SPDX-License-Identifier: Apache-2.0
// The k best of one list on the GPU, in two launches (three before Hopper) and one pass over the keys.
// - sample_limit_kernel, or sample_keys_kernel and choose_limit_kernel, read 32,768 keys and find a threshold that a little more than k pass, with a probability near
//   one.
// - select_kernel collects the keys that pass it, sorts them in tiles, and merges the tiles by rank: a composite's place in
//   the result is the number of smaller composites, a binary search in every tile.
// - If too few or too many pass (by chance, or by adversarial data), the same launch continues with radix select, which no
//   data can mislead.
//
// (Sampling for selection: Floyd and Rivest 1975; radix select on GPUs: Alabi et al. 2012.) If k is too large for that,
// candidates (or all keys) go to the radix sort of pairs.
#include <algorithm>
#include <cstdint>

#include "device/cuda/hopper.cuh"
#include "device/cuda/portable.cuh"
#include "primitives/sort/sort.hpp"
#include "primitives/top_k/selection.cuh"
#include "primitives/top_k/top_k_checks.hpp"

namespace quern::primitives {
namespace top_k_detail {
namespace {

constexpr unsigned sampling_blocks = 8;                            // one cluster
constexpr unsigned sampled_at_once = sampling_blocks * tile_size;  // one key per thread
constexpr unsigned few_groups = 256;      // of samples, if the limit is one of the first of them
constexpr unsigned kept_in_block = 2048;  // candidates that a block buffers, to append them at once
template <class Composite>
constexpr unsigned counted =
    32768 / static_cast<unsigned>(sizeof(Composite));  // up to so many candidates are ranked by counting
constexpr unsigned ranked_at_once = 128;               // composites that a block ranks at a time

/// The data shared by the blocks of a selection. begin_selection zeroes it.
template <class Composite>
struct shared_state {
    Composite limit;   ///< candidates do not exceed it
    unsigned found;    ///< candidates, including those that did not fit
    unsigned arrived;  ///< total arrivals of blocks at barriers
    unsigned counts[digit_passes<Composite>][digits];
};

template <class Key>
struct selection {
    using composite = typename ranking<Key>::composite;
    key_list<Key> list;
    std::uint64_t k;
    Key* best_keys;
    std::uint32_t* best_ids;
    composite* candidates;
    unsigned capacity;  ///< of `candidates`: a multiple of tile_size
    shared_state<composite>* state;
    std::uint64_t* fault_word;
    typename ranking<Key>::word* high;  ///< null, or: candidates are written here and to best_ids, unsorted
};

/// How a limit is found. Each thread of sampling_blocks blocks reads `rounds` keys. The best of those that the threads t of
/// all blocks read is one of 1,024 samples, or the best of every four of these one of 256; the `least`-th best sample is the
/// limit. `rounds` 0: no limit.
struct sample_of_keys {
    unsigned rounds, least, groups;
};

/// Zeroes the state, with as many threads as sampled_at_once.
template <class Key>
__device__ void begin_selection(shared_state<typename ranking<Key>::composite>* state, unsigned thread,
                                bool limited) {
    using composite = typename ranking<Key>::composite;
    for (unsigned d = thread; d < digit_passes<composite> * digits; d += sampled_at_once)
        state->counts[0][d] = 0;
    if (thread == 0) {
        state->found = state->arrived = 0;
        if (!limited) state->limit = ranking<Key>::worst;
    }
}

/// For Hopper: one cluster of sampling_blocks blocks. Shared memory: composites of two tiles (16 or 32 KB).
template <class Key>
__global__ void __launch_bounds__(tile_size)
    sample_limit_kernel(key_list<Key> list, sample_of_keys sample,
                        shared_state<typename ranking<Key>::composite>* state) {
    if (!cuda::hopper_code) return;
    using composite = typename ranking<Key>::composite;
    __shared__ composite board[2 * tile_size];
    const unsigned t = threadIdx.x, thread = blockIdx.x * tile_size + t;
    const auto [rounds, least, groups] = sample;
    cuda::let_next_kernel_start();  // the selection may load its first keys in parallel
    begin_selection<Key>(state, thread, rounds != 0);
    if (rounds == 0) return;
    composite best = sample_best(list, rounds, thread, sampled_at_once);
    const bool few = groups == few_groups;
    best = few ? best_of_four<few_groups>(best, board) : best;
    composite* const own = board + tile_size + t;  // not where the four were
    *own = best;
    cuda::cluster_barrier();
    const bool idle = blockIdx.x != 0 || t >= groups;
    for (unsigned b = 1; b < sampling_blocks && !idle; ++b)
        best = min_of(best, *cuda::in_block_of_cluster(own, b));
    cuda::cluster_barrier();  // no block ends while its memory is being read
    if (blockIdx.x != 0) return;
    best = few ? block_sort<few_groups>(best, board, idle) : block_sort<tile_size>(best, board);
    if (t == least - 1) state->limit = best;
}

/// The same limit on every device, in two kernels. This one: sampling_blocks blocks, which write the best of every thread to
/// samples[thread] (of four threads to those of the first quarter of each block's threads). Shared memory as above.
template <class Key>
__global__ void __launch_bounds__(tile_size)
    sample_keys_kernel(key_list<Key> list, sample_of_keys sample,
                       shared_state<typename ranking<Key>::composite>* state,
                       typename ranking<Key>::composite* samples) {
    using composite = typename ranking<Key>::composite;
    __shared__ composite board[tile_size];
    const unsigned thread = blockIdx.x * tile_size + threadIdx.x;
    begin_selection<Key>(state, thread, sample.rounds != 0);
    if (sample.rounds == 0) return;
    const composite best = sample_best(list, sample.rounds, thread, sampled_at_once);
    samples[thread] = sample.groups == few_groups ? best_of_four<few_groups>(best, board) : best;
}
/// After it: one block.
template <class Key>
__global__ void __launch_bounds__(tile_size)
    choose_limit_kernel(const typename ranking<Key>::composite* samples, sample_of_keys sample,
                        shared_state<typename ranking<Key>::composite>* state) {
    using composite = typename ranking<Key>::composite;
    __shared__ composite board[2 * tile_size];
    const unsigned t = threadIdx.x;
    const bool few = sample.groups == few_groups, idle = t >= sample.groups;
    composite best = samples[t];
    for (unsigned b = 1; b < sampling_blocks; ++b) best = min_of(best, samples[b * tile_size + t]);
    best = few ? block_sort<few_groups>(best, board, idle) : block_sort<tile_size>(best, board);
    if (t == sample.least - 1) state->limit = best;
}

/// All blocks of a cooperative launch wait for each other, and see all earlier writes. `target` accumulates.
__device__ void wait_for_grid(unsigned* arrived, unsigned& target) {
    __syncthreads();
    target += gridDim.x;
    if (threadIdx.x == 0) {
        ::cuda::atomic_ref<unsigned, ::cuda::thread_scope_device> blocks(*arrived);
        blocks.fetch_add(1, ::cuda::memory_order_release);
        while (blocks.load(::cuda::memory_order_acquire) < target) {
        }
        __threadfence();
    }
    __syncthreads();
}

/// Appends the keys that do not exceed the composite that begin() returns to the candidates. `kept`: kept_in_block
/// composites.
template <class Key, class Begin>
__device__ void collect_candidates(const selection<Key>& job, const Begin& begin,
                                   typename ranking<Key>::composite* kept) {
    using composite = typename ranking<Key>::composite;
    __shared__ unsigned held, base;
    if (threadIdx.x == 0) held = 0;
    __syncthreads();
    const auto append = [&](composite packed, unsigned at) {
        if (at < job.capacity) job.candidates[at] = packed;
    };
    for_each_key<6>(
        job.list, blockIdx.x, gridDim.x, [&] { return limit_filter<Key>(job.list, begin()); },
        [&](const limit_filter<Key>& filter, Key key, unsigned position) {
            if (key != key)
                cuda::note_fault(job.fault_word, fault::key_not_a_number, job.list.first_position + position);
            const composite packed = ranking<Key>::pack(job.list.ranks.turned(key), job.list.id(position));
            if (!filter.passes(packed)) return;
            const unsigned slot = atomicAdd(&held, 1u);
            if (slot < kept_in_block) {
                kept[slot] = packed;
            } else if (*static_cast<volatile unsigned*>(&job.state->found) <= job.capacity) {
                append(packed, atomicAdd(&job.state->found, 1u));
            }
        });
    __syncthreads();
    const unsigned count = min(held, kept_in_block);
    if (threadIdx.x == 0 && count != 0) base = atomicAdd(&job.state->found, count);
    __syncthreads();
    for (unsigned j = threadIdx.x; j < count; j += tile_size) append(kept[j], base + j);
}

template <class Key>
__device__ void write_one(const selection<Key>& job, std::uint64_t place,
                          typename ranking<Key>::composite packed) {
    job.best_keys[place] = job.list.ranks.key_of(packed);
    job.best_ids[place] = ranking<Key>::id_of(packed);
}

/// Ranks few candidates: one warp each, which counts the smaller ones. `all`: as many composites.
template <class Key>
__device__ void rank_by_counting(const selection<Key>& job, unsigned found,
                                 typename ranking<Key>::composite* all) {
    for (unsigned j = threadIdx.x; j < found; j += tile_size) all[j] = job.candidates[j];
    __syncthreads();
    const unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    for (unsigned own = warp * gridDim.x + blockIdx.x; own < found; own += gridDim.x * (tile_size / 32)) {
        const auto mine = all[own];
        unsigned smaller = 0;
#pragma unroll 4
        for (unsigned j = lane; j < found; j += 32) smaller += all[j] < mine;
        smaller = cuda::sum_of_warp(smaller);
        if (lane == 0 && smaller < job.k) write_one(job, smaller, mine);
    }
}

/// Sorts tile after tile of the candidates, block after block.
template <class Key>
__device__ void sort_tiles(const selection<Key>& job, unsigned found,
                           typename ranking<Key>::composite* board) {
    for (unsigned first = blockIdx.x * tile_size; first < found; first += gridDim.x * tile_size) {
        const unsigned at = first + threadIdx.x;
        const auto mine = at < found ? job.candidates[at] : ranking<Key>::worst;
        job.candidates[at] = block_sort<tile_size>(mine, board);
        __syncthreads();
    }
}

/// Ranks the sorted tiles' composites and writes those below k. A block takes ranked_at_once neighbours of one tile, and
/// its threads share the searches in all the others; composites after the k-th of their tile are skipped.
template <class Key>
__device__ void merge_tiles(const selection<Key>& job, unsigned found) {
    __shared__ unsigned ranks[ranked_at_once];
    const unsigned tiles = (found + tile_size - 1) / tile_size;
    const unsigned useful = job.k < tile_size ? static_cast<unsigned>(job.k) : tile_size;
    const unsigned groups = (useful + ranked_at_once - 1) / ranked_at_once;
    constexpr unsigned searchers = tile_size / ranked_at_once;
    const unsigned j = threadIdx.x % ranked_at_once, searcher = threadIdx.x / ranked_at_once;
    for (unsigned turn = blockIdx.x; turn < tiles * groups; turn += gridDim.x) {
        const unsigned own = turn / groups, place = turn % groups * ranked_at_once + j;
        const auto mine = job.candidates[own * tile_size + place];
        if (searcher == 0) ranks[j] = place;
        __syncthreads();
        unsigned smaller = 0;
        for (unsigned tile = searcher; tile < tiles; tile += searchers)
            if (tile != own) smaller += count_smaller(job.candidates + tile * tile_size, useful, mine);
        if (smaller != 0) atomicAdd(&ranks[j], smaller);
        __syncthreads();
        // The padding of the last tile is after all candidates, of which there are at least k.
        if (searcher == 0 && place < useful && ranks[j] < job.k) write_one(job, ranks[j], mine);
        __syncthreads();
    }
}

/// A cooperative launch of one block per multiprocessor, early: its first keys are loaded while the sample is read; for 5 M
/// floats these are most of them. All blocks collect candidates and rank them; more than a few are first sorted in tiles,
/// block b the tiles b, b + grid, …. If the number of candidates is not in [k, capacity], all narrow the limit first and
/// collect again. Shared memory: 32 KB of composites, used as the buffer of candidates, then for digit counters, then for
/// ranks or exchanges.
template <class Key>
__global__ void __launch_bounds__(tile_size, 1) select_kernel(selection<Key> job) {
    using composite = typename ranking<Key>::composite;
    __shared__ composite board[counted<composite>];
    static_assert(kept_in_block <= counted<composite> && 2 * tile_size <= counted<composite>);
    static_assert(digits * sizeof(unsigned) <= sizeof(board));
    unsigned target = 0;
    const auto sampled = [&] {
        cuda::wait_for_previous_kernel();  // only now has the previous kernel ended
        return *static_cast<volatile composite*>(&job.state->limit);
    };
    collect_candidates(job, sampled, board);
    wait_for_grid(&job.state->arrived, target);
    unsigned found = job.state->found;
    if (found < job.k || found > job.capacity) {
        const composite limit =
            narrow(job.list, job.k, job.capacity, blockIdx.x, gridDim.x, reinterpret_cast<unsigned*>(board),
                   [&](unsigned* counts, unsigned pass) {
                       unsigned* const sums = job.state->counts[pass];
                       for (unsigned d = threadIdx.x; d < digits; d += tile_size)
                           if (counts[d] != 0) atomicAdd(&sums[d], counts[d]);
                       wait_for_grid(&job.state->arrived, target);
                       for (unsigned d = threadIdx.x; d < digits; d += tile_size) counts[d] = sums[d];
                       __syncthreads();
                   });
        // Every block has passed the barriers of narrow(): none reads the first count any more.
        if (blockIdx.x == 0 && threadIdx.x == 0) job.state->found = 0;
        wait_for_grid(&job.state->arrived, target);
        collect_candidates(
            job, [&] { return limit; }, board);
        wait_for_grid(&job.state->arrived, target);
        found = min(job.state->found, job.capacity);
    }
    if (job.high != nullptr) {
        for (unsigned j = blockIdx.x * tile_size + threadIdx.x; j < job.capacity;
             j += gridDim.x * tile_size) {
            const composite packed = j < found ? job.candidates[j] : ranking<Key>::worst;
            job.high[j] = static_cast<typename ranking<Key>::word>(packed >> 32);
            job.best_ids[j] = static_cast<std::uint32_t>(packed);
        }
        return;
    }
    if (found <= counted<composite>) return rank_by_counting(job, found, board);
    sort_tiles(job, found, board);
    wait_for_grid(&job.state->arrived, target);
    merge_tiles(job, found);
}

/// Every key as the two parts of its composite. One thread per item.
template <class Key>
__global__ void split_keys_kernel(key_list<Key> list, typename ranking<Key>::word* high, std::uint32_t* low,
                                  std::uint64_t* fault_word) {
    const std::uint64_t i = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x;
    if (i >= list.size) return;
    const Key turned = list.ranks.turned(list.keys[i]);
    if (turned != turned) cuda::note_fault(fault_word, fault::key_not_a_number, list.first_position + i);
    const auto packed = ranking<Key>::pack(turned, list.id(i));
    high[i] = static_cast<typename ranking<Key>::word>(packed >> 32);
    low[i] = static_cast<std::uint32_t>(packed);
}

/// The reverse. One thread per result.
template <class Key>
__global__ void join_keys_kernel(ranking<Key> ranks, const typename ranking<Key>::word* high,
                                 const std::uint32_t* low, std::uint64_t k, Key* best_keys,
                                 std::uint32_t* best_ids) {
    const std::uint64_t j = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x;
    if (j >= k) return;
    const auto packed = typename ranking<Key>::composite{high[j]} << 32 | low[j];
    best_keys[j] = ranks.key_of(packed);
    best_ids[j] = ranking<Key>::id_of(packed);
}

/// The parameters of a selection.
struct plan {
    enum class method { ranks, sorts_candidates, sorts_all } how = method::ranks;
    unsigned rounds = 0, least = 0, groups = tile_size;  ///< of sampling
    std::uint64_t capacity = 0;
};

constexpr std::uint64_t max_ranked = 128 * tile_size;  // beyond, the radix sort is faster than ranks
constexpr std::uint64_t not_sampled = 4 * tile_size;   // up to this many, all are candidates

constexpr std::uint64_t whole_tiles(std::uint64_t count) {
    return (count + tile_size - 1) / tile_size * tile_size;
}

plan plan_for(std::uint64_t n, std::uint64_t k) {
    const plan unsampled{n <= max_ranked ? plan::method::ranks : plan::method::sorts_all, 0, 0, tile_size,
                         whole_tiles(n)};
    if (n <= not_sampled) return unsampled;
    unsigned groups = few_groups;
    sampling sampled = sampling_for(n, k, sampled_at_once, groups, max_rounds);
    if (sampled.least == 0 || sampled.least > groups / 4)
        sampled = sampling_for(n, k, sampled_at_once, groups = tile_size, max_rounds);
    const std::uint64_t capacity = whole_tiles(sampled.max);
    if (sampled.least == 0 || capacity >= (n <= max_ranked ? n : n / 2)) return unsampled;
    return {capacity <= max_ranked ? plan::method::ranks : plan::method::sorts_candidates, sampled.rounds,
            sampled.least, groups, capacity};
}

template <class Key>
void find_limit(cuda_place& place, const key_list<Key>& list, const sample_of_keys& sample,
                shared_state<typename ranking<Key>::composite>* state) {
    cuda::launch_shape shape{dim3(sampling_blocks), dim3(tile_size)};
    if (place.abilities().hopper()) {
        shape.cluster = sampling_blocks;
        QUERN_LAUNCH(place, shape, sample_limit_kernel<Key>, list, sample, state);
        return;
    }
    const cuda_array<typename ranking<Key>::composite> samples(
        place, sample.rounds != 0 ? sampled_at_once : 0, "the samples of a selection");
    QUERN_LAUNCH(place, shape, sample_keys_kernel<Key>, list, sample, state, samples.data());
    if (sample.rounds != 0)
        QUERN_LAUNCH(place, (cuda::launch_shape{dim3(1), dim3(tile_size)}), choose_limit_kernel<Key>,
                     samples.data(), sample, state);
}

template <class Key>
void sort_and_join(cuda_place& place, const ranking<Key>& ranks,
                   device_span<typename ranking<Key>::word> high, device_span<std::uint32_t> low,
                   bool low_rises, std::uint64_t k, Key* best_keys, std::uint32_t* best_ids) {
    if (!low_rises) sort_pairs(place, low, high);  // both sorts are stable
    sort_pairs(place, high, low);
    constexpr unsigned threads = 256;
    QUERN_LAUNCH(place, (cuda::launch_shape{dim3(cuda::blocks_for(k, threads)), dim3(threads)}),
                 join_keys_kernel<Key>, ranks, high.data(), low.data(), k, best_keys, best_ids);
}

template <class Key>
void sort_all(cuda_place& place, const key_list<Key>& list, std::uint64_t k, Key* best_keys,
              std::uint32_t* best_ids) {
    using word = typename ranking<Key>::word;
    cuda_array<word> high(place, list.size, "the keys of a selection");
    cuda_array<std::uint32_t> low(place, list.size, "the ids of a selection");
    constexpr unsigned threads = 256;
    QUERN_LAUNCH(place, (cuda::launch_shape{dim3(cuda::blocks_for(list.size, threads)), dim3(threads)}),
                 split_keys_kernel<Key>, list, high.data(), low.data(), place.fault_word());
    sort_and_join(place, list.ranks, high.span(), low.span(), list.ids == nullptr, k, best_keys, best_ids);
}

}  // namespace

template <class Key>
void select_best(cuda_place& place, const Key* keys, const std::uint32_t* ids, std::uint64_t n,
                 std::uint64_t k, Key* best_keys, std::uint32_t* best_ids, best which,
                 std::uint64_t first_position) {
    using composite = typename ranking<Key>::composite;
    using word = typename ranking<Key>::word;
    const key_list<Key> list{keys, ids, n, ranking<Key>(which), first_position};
    const plan way = plan_for(n, k);
    if (way.how == plan::method::sorts_all) return sort_all(place, list, k, best_keys, best_ids);

    using state = shared_state<composite>;
    static_assert(sizeof(state) % alignof(composite) == 0);
    const cuda_array<std::byte> memory(place, sizeof(state) + way.capacity * sizeof(composite),
                                       "the candidates of a selection");
    const bool sorts = way.how == plan::method::sorts_candidates;
    const cuda_array<word> high(place, sorts ? way.capacity : 0, "the keys of a selection");
    const cuda_array<std::uint32_t> low(place, sorts ? way.capacity : 0, "the ids of a selection");
    auto* const shared = reinterpret_cast<state*>(memory.data());
    const selection<Key> job{list,
                             k,
                             best_keys,
                             sorts ? low.data() : best_ids,
                             reinterpret_cast<composite*>(memory.data() + sizeof(state)),
                             static_cast<unsigned>(way.capacity),
                             shared,
                             place.fault_word(),
                             sorts ? high.data() : nullptr};
    find_limit(place, list, sample_of_keys{way.rounds, way.least, way.groups}, shared);
    const unsigned blocks = static_cast<unsigned>(
        std::min<std::uint64_t>(place.multiprocessors(), cuda::blocks_for(n, tile_size)));
    QUERN_LAUNCH(place, (cuda::launch_shape{dim3(blocks), dim3(tile_size), 0, true, true}),
                 select_kernel<Key>, job);
    if (sorts) sort_and_join(place, list.ranks, high.span(), low.span(), false, k, best_keys, best_ids);
}

#define QUERN_SELECT_BEST(KEY)                                                                             \
    template void select_best(cuda_place&, const KEY*, const std::uint32_t*, std::uint64_t, std::uint64_t, \
                              KEY*, std::uint32_t*, best, std::uint64_t);
QUERN_SELECT_BEST(float)
QUERN_SELECT_BEST(double)
QUERN_SELECT_BEST(std::uint32_t)
QUERN_SELECT_BEST(std::int32_t)
QUERN_SELECT_BEST(std::uint64_t)
QUERN_SELECT_BEST(std::int64_t)
#undef QUERN_SELECT_BEST

}  // namespace top_k_detail

template <sortable_key Key>
void top_k(cuda_place& place, device_span<const Key> keys, device_span<Key> best_keys,
           device_span<std::uint32_t> best_ids, best which) {
    top_k_detail::check_top_k(keys.size(), -1, best_keys.size(), best_ids.size());
    if (best_keys.empty()) return;
    top_k_detail::select_best<Key>(place, keys.data(), nullptr, keys.size(), best_keys.size(),
                                   best_keys.data(), best_ids.data(), which);
}

template <sortable_key Key>
void top_k(cuda_place& place, device_span<const Key> keys, device_span<const std::uint32_t> ids,
           device_span<Key> best_keys, device_span<std::uint32_t> best_ids, best which) {
    top_k_detail::check_top_k(keys.size(), static_cast<std::int64_t>(ids.size()), best_keys.size(),
                              best_ids.size());
    if (best_keys.empty()) return;
    top_k_detail::select_best<Key>(place, keys.data(), ids.data(), keys.size(), best_keys.size(),
                                   best_keys.data(), best_ids.data(), which);
}

#define QUERN_TOP_K(KEY)                                                                                   \
    template void top_k(cuda_place&, device_span<const KEY>, device_span<KEY>, device_span<std::uint32_t>, \
                        best);                                                                             \
    template void top_k(cuda_place&, device_span<const KEY>, device_span<const std::uint32_t>,             \
                        device_span<KEY>, device_span<std::uint32_t>, best);
QUERN_TOP_K(float)
QUERN_TOP_K(double)
QUERN_TOP_K(std::uint32_t)
QUERN_TOP_K(std::int32_t)
QUERN_TOP_K(std::uint64_t)
QUERN_TOP_K(std::int64_t)
#undef QUERN_TOP_K

}  // namespace quern::primitives
