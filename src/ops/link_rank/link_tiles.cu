// SPDX-License-Identifier: Apache-2.0
// Sums over links in their original order. Threads take equal numbers of links, independent of the nodes; each adds as long
// as the node stays the same, then adds to the node's sum in device memory. Integers, in any order.
#include "ops/link_rank/link_tiles.cuh"

#include <algorithm>

#include "device/cuda/check.cuh"
#include "ops/link_rank/fixed_arithmetic.hpp"

namespace quern::link_rank_detail {
namespace {

constexpr unsigned block_threads = 256, links_a_thread = 16, links_a_block = block_threads * links_a_thread;
constexpr std::uint64_t min_tile_links = 256, max_tile_links = std::uint64_t{1} << 24;

__device__ void add_to(std::uint64_t* low, std::uint64_t*, std::uint32_t target, std::int64_t sum) {
    atomicAdd(reinterpret_cast<unsigned long long*>(low + target), static_cast<unsigned long long>(sum));
}
/// In two halves; the thread that makes the lower one wrap adds the carry.
__device__ void add_to(std::uint64_t* low, std::uint64_t* high, std::uint32_t target, wide_integer sum) {
    const auto lower = static_cast<std::uint64_t>(sum);
    const std::uint64_t before = atomicAdd(reinterpret_cast<unsigned long long*>(low + target),
                                           static_cast<unsigned long long>(lower));
    const std::uint64_t carry = before + lower < before ? 1 : 0;
    const std::uint64_t upper = static_cast<std::uint64_t>(sum >> 64) + carry;
    if (upper != 0)
        atomicAdd(reinterpret_cast<unsigned long long*>(high + target),
                  static_cast<unsigned long long>(upper));
}

template <class Sum>
__device__ Sum over_lanes(Sum sum) {
    for (unsigned d = 16; d != 0; d /= 2) {
        if constexpr (sizeof(Sum) == 16) {
            const std::uint64_t low = __shfl_down_sync(~0u, static_cast<std::uint64_t>(sum), d);
            const std::uint64_t high = __shfl_down_sync(~0u, static_cast<std::uint64_t>(sum >> 64), d);
            sum += static_cast<Sum>(static_cast<wide_natural>(high) << 64 | low);
        } else {
            sum += __shfl_down_sync(~0u, sum, d);
        }
    }
    return sum;
}

/// The contributions of the links from `begin` to `end`, at most links_a_thread of them. Reads 16 bytes at a time where
/// possible (`begin` is a multiple of that), and gathers all before it uses the first.
template <class Value>
__device__ void gather(const link_chunk& links, std::uint64_t begin, std::uint64_t end, const Value* table,
                       Value (&contributions)[links_a_thread]) {
    std::uint32_t sources[links_a_thread];
    if (end - begin == links_a_thread) {
        const auto* four = reinterpret_cast<const uint4*>(links.sources + begin);
#pragma unroll
        for (unsigned i = 0; i < links_a_thread / 4; ++i) {
            const uint4 read = __ldcs(four + i);
            sources[4 * i] = read.x;
            sources[4 * i + 1] = read.y;
            sources[4 * i + 2] = read.z;
            sources[4 * i + 3] = read.w;
        }
#pragma unroll
        for (unsigned i = 0; i < links_a_thread; ++i) contributions[i] = __ldg(table + sources[i]);
    } else {
#pragma unroll
        for (unsigned i = 0; i < links_a_thread; ++i)
            contributions[i] = i < end - begin ? __ldg(table + links.sources[begin + i]) : Value{0};
    }
}

/// Each thread takes links_a_thread consecutive links. Sum: 64 bits, or 128 for links with weights.
template <class Sum, class Value>
__global__ void __launch_bounds__(block_threads)
    sum_tile_kernel(link_chunk links, const std::uint64_t* weights, const Value* table, std::uint64_t* low,
                    std::uint64_t* high, const std::uint32_t* halted) {
    __shared__ std::uint32_t ends[2];
    if (*halted != 0) return;
    const std::uint64_t block = std::uint64_t{blockIdx.x} * links_a_block;
    find_targets(links, block, min(block + links_a_block, links.count), ends);
    const std::uint64_t begin = min(block + threadIdx.x * links_a_thread, links.count);
    const std::uint64_t end = min(begin + links_a_thread, links.count);
    Value contributions[links_a_thread];
    gather(links, begin, end, table, contributions);
    std::uint32_t target = ends[1];
    Sum sum = 0;
    if (begin < end) target = target_of(links.offsets, ends[0], ends[1], links.first + begin);
    std::uint64_t target_end = links.offsets[target + 1] - links.first;
#pragma unroll
    for (unsigned i = 0; i < links_a_thread; ++i) {
        if (begin + i >= end) break;
        if (begin + i >= target_end) {
            add_to(low, high, target, sum);
            sum = 0;
            target = target_of(links.offsets, target + 1, ends[1], links.first + begin + i);
            target_end = links.offsets[target + 1] - links.first;
        }
        if constexpr (sizeof(Sum) == 16)
            sum += static_cast<wide_integer>(contributions[i]) * __ldg(weights + begin + i);
        else
            sum += contributions[i];
    }
    // One addition per warp for a node with thousands of links.
    if (__all_sync(~0u, target == __shfl_sync(~0u, target, 0))) {
        sum = over_lanes(sum);
        if (threadIdx.x % 32 != 0) return;
    }
    if (sum != 0) add_to(low, high, target, sum);
}

}  // namespace

link_tiles::link_tiles(cuda_place& place, const link_graph_view& graph,
                       std::span<const std::uint64_t> weights, unsigned shares)
    : graph_(graph), host_weights_(weights) {
    const std::uint64_t links = graph.sources.size(), link_bytes = weights.empty() ? 4 : 12;
    offsets_ = {place, graph.offsets, "offsets of links"};
    kept_ = links;
    if (take_in_place(place)) return;
    const std::uint64_t capacity = place.memory().left() / shares / 8 * 7 / link_bytes;
    std::uint64_t tile = 0;
    if (capacity < links) {
        // Below the minimum tile a step would consist only of launches; then the arrays throw out_of_memory.
        tile = std::clamp<std::uint64_t>(capacity / 4, std::min(links, min_tile_links), max_tile_links);
        kept_ = capacity - std::min(capacity, tile);
    }
    sources_ = {place, graph.sources.first(kept_), "links"};
    source_tile_ = cuda_array<std::uint32_t>(place, tile, "a tile of links");
    if (weights.empty()) return;
    weights_ = {place, weights.first(kept_), "links' weights"};
    weight_tile_ = cuda_array<std::uint64_t>(place, tile, "a tile of links' weights");
}

bool link_tiles::take_in_place(cuda_place& place) {
    using sources = input_array<cuda_place, std::uint32_t>;
    using weights = input_array<cuda_place, std::uint64_t>;
    sources_ = sources::in_place(place, graph_.sources);
    if (!sources_.is_in_place()) return false;
    if (host_weights_.empty()) return true;
    weights_ = weights::in_place(place, host_weights_);
    if (weights_.is_in_place()) return true;
    sources_ = {};
    return false;
}

template <class Enqueue>
void link_tiles::for_each_tile(cuda_place& place, Enqueue enqueue) const {
    const auto shape = [](std::uint64_t count) {
        return cuda::launch_shape{cuda::blocks_for(count, links_a_block), block_threads};
    };
    if (kept_ != 0)
        enqueue(shape(kept_), link_chunk{offsets_.data(), graph_.nodes, sources_.data(), 0, kept_},
                weights_.data());
    for (std::uint64_t first = kept_; first < graph_.sources.size(); first += source_tile_.size()) {
        const std::uint64_t count = std::min(source_tile_.size(), graph_.sources.size() - first);
        place.ctx().check_stop();
        copy_in(place, graph_.sources.subspan(first, count), source_tile_.span().first(count));
        if (!host_weights_.empty())
            copy_in(place, host_weights_.subspan(first, count), weight_tile_.span().first(count));
        enqueue(shape(count), link_chunk{offsets_.data(), graph_.nodes, source_tile_.data(), first, count},
                weight_tile_.data());
    }
}

void link_tiles::add(cuda_place& place, const std::int32_t* table, std::uint64_t* low,
                     const std::uint32_t* halted) const {
    for_each_tile(place, [&](const auto& shape, const link_chunk& links, const std::uint64_t* weights) {
        QUERN_LAUNCH(place, shape, (sum_tile_kernel<std::int64_t, std::int32_t>), links, weights, table, low,
                     static_cast<std::uint64_t*>(nullptr), halted);
    });
}
void link_tiles::add(cuda_place& place, const std::int64_t* table, std::uint64_t* low,
                     const std::uint32_t* halted) const {
    for_each_tile(place, [&](const auto& shape, const link_chunk& links, const std::uint64_t* weights) {
        QUERN_LAUNCH(place, shape, (sum_tile_kernel<std::int64_t, std::int64_t>), links, weights, table, low,
                     static_cast<std::uint64_t*>(nullptr), halted);
    });
}
void link_tiles::add_weighted(cuda_place& place, const std::int64_t* table, std::uint64_t* low,
                              std::uint64_t* high, const std::uint32_t* halted) const {
    for_each_tile(place, [&](const auto& shape, const link_chunk& links, const std::uint64_t* weights) {
        QUERN_LAUNCH(place, shape, (sum_tile_kernel<wide_integer, std::int64_t>), links, weights, table, low,
                     high, halted);
    });
}

}  // namespace quern::link_rank_detail
