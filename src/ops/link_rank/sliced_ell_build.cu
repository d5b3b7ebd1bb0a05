// SPDX-License-Identifier: Apache-2.0
// Arranges links in slices (sliced_ell.cuh): numbers the nodes, counts links by group and target, lays out each group's
// segments, and writes the links to their places. Reads the links twice, in pieces where memory is short. Only the order of
// the links within a segment varies between runs.
#include <algorithm>
#include <limits>

#include "device/cuda/check.cuh"
#include "ops/link_rank/link_tiles.cuh"
#include "ops/link_rank/sliced_ell.cuh"
#include "primitives/load_balance/load_balance.hpp"
#include "primitives/scan/scan.hpp"
#include "primitives/sort/sort.hpp"

namespace quern::link_rank_detail {
namespace {

using cuda::blocks_for;
using cuda::launch_shape;

constexpr unsigned block_threads = 256, links_a_block = 2048;
// The number of nodes in a hot group. The rest of a multiprocessor's memory is the first-level cache, which cold gathers go
// through: each gather in flight holds a line there, longer if it goes to device memory.
constexpr std::uint32_t table_slots_in_cache = 49152, table_slots_beyond = 32768;

launch_shape thread_each(std::size_t items) {
    return {blocks_for(items, block_threads), block_threads};
}

/// Keys that ascend as out-degrees descend. One thread per node.
__global__ void order_nodes_kernel(const std::uint64_t* degrees, std::uint32_t nodes, std::uint32_t* keys,
                                   std::uint32_t* order) {
    const std::uint32_t v = blockIdx.x * blockDim.x + threadIdx.x;
    if (v >= nodes) return;
    keys[v] = ~static_cast<std::uint32_t>(min(degrees[v], std::uint64_t{0xffffffff}));
    order[v] = v;
}

/// *linked: the number of keys of nodes with links out; these come first. One thread per node.
__global__ void count_linked_kernel(const std::uint32_t* keys, std::uint32_t nodes, std::uint32_t* linked) {
    constexpr std::uint32_t none = 0xffffffff;  // the key of degree 0
    const std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < nodes && keys[i] != none && (i + 1 == nodes || keys[i + 1] == none)) *linked = i + 1;
}

/// links[g] += out-degrees of the nodes at places [g·size, (g + 1)·size). Grid: any number of blocks times the groups.
__global__ void sum_degrees_kernel(const std::uint64_t* degrees, const std::uint32_t* order,
                                   std::uint32_t nodes, std::uint32_t size, unsigned long long* links) {
    const std::uint64_t begin = std::uint64_t{blockIdx.y} * size;
    const std::uint64_t end = min(begin + size, std::uint64_t{nodes});
    unsigned long long sum = 0;
    for (std::uint64_t i = begin + blockIdx.x * blockDim.x + threadIdx.x; i < end;
         i += gridDim.x * blockDim.x)
        sum += degrees[order[i]];
    for (unsigned d = 16; d != 0; d /= 2) sum += __shfl_down_sync(~0u, sum, d);
    if (threadIdx.x % 32 == 0) atomicAdd(links + blockIdx.y, sum);
}

/// The slot of a place in the order: skips each table's first slot.
__host__ __device__ inline std::uint32_t slot_at(std::uint32_t i, std::uint32_t table_nodes,
                                                 std::uint32_t tables) {
    const std::uint32_t before = i / table_nodes + 1;
    return i + (before < tables ? before : tables);
}

/// Places in the order → slots. One thread per place.
__global__ void number_slots_kernel(const std::uint32_t* order, std::uint32_t nodes,
                                    std::uint32_t table_nodes, std::uint32_t tables, std::uint32_t* slot_of) {
    const std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < nodes) slot_of[order[i]] = slot_at(i, table_nodes, tables);
}

/// The work of each slot: a node's pass over memory costs as much as work_of_node links. One thread per node.
__global__ void weigh_slots_kernel(const std::uint64_t* offsets, std::uint32_t nodes,
                                   const std::uint32_t* slot_of, std::uint64_t* work) {
    constexpr std::uint64_t work_of_node = 4;
    const std::uint32_t v = blockIdx.x * blockDim.x + threadIdx.x;
    if (v < nodes) work[slot_of[v]] = offsets[v + 1] - offsets[v] + work_of_node;
}

/// bounds[i]: the first slot, a multiple of four, before which there is about i / count of the work; bounds[count] = slots.
/// work_before: slots + 1 values. One block, one thread per bound.
__global__ void find_bounds_kernel(const std::uint64_t* work_before, std::uint32_t slots,
                                   std::uint32_t* bounds, std::uint32_t count) {
    const std::uint32_t i = threadIdx.x;
    if (i > count) return;
    const std::uint64_t wanted = work_before[slots] / count * i;
    std::uint32_t low = 0, high = slots;  // the first slot with at least `wanted` before it
    while (low < high) {
        const std::uint32_t middle = low + (high - low) / 2;
        if (work_before[middle] < wanted)
            low = middle + 1;
        else
            high = middle;
    }
    bounds[i] = i == count ? slots : low / 4 * 4;
}

/// Counts counts[group of the source · targets.size + target's slot in the range], links_a_block links per block.
__global__ void __launch_bounds__(block_threads)
    count_links_kernel(link_chunk links, const std::uint32_t* slot_of, slot_range targets,
                       std::uint32_t table_slots, std::uint32_t hot_groups, std::uint32_t* counts) {
    __shared__ std::uint32_t ends[2];
    const std::uint64_t begin = std::uint64_t{blockIdx.x} * links_a_block;
    const std::uint64_t end = min(begin + links_a_block, links.count);
    find_targets(links, begin, end, ends);
    for (std::uint64_t i = begin + threadIdx.x; i < end; i += block_threads) {
        const std::uint32_t target =
            slot_of[target_of(links.offsets, ends[0], ends[1], links.first + i)] - targets.first;
        if (target >= targets.size) continue;
        const std::uint32_t group = min(slot_of[links.sources[i]] / table_slots, hot_groups);
        atomicAdd(counts + std::uint64_t{group} * targets.size + target, 1u);
    }
}

/// The whole segments of each slot, and its rest as a key: the longer the rest, the smaller the key. One thread per slot.
__global__ void cut_segments_kernel(const std::uint32_t* counts, std::uint32_t slots, std::uint32_t* whole,
                                    std::uint32_t* keys, std::uint32_t* targets) {
    const std::uint32_t p = blockIdx.x * blockDim.x + threadIdx.x;
    if (p >= slots) return;
    whole[p] = counts[p] / segment_links;
    keys[p] = segment_links - counts[p] % segment_links;
    targets[p] = p;
}

/// *rests: the number of keys with a rest; these come first. One thread per slot.
__global__ void count_rests_kernel(const std::uint32_t* keys, std::uint32_t slots, std::uint32_t* rests) {
    const std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < slots && keys[i] < segment_links && (i + 1 == slots || keys[i + 1] == segment_links))
        *rests = i + 1;
}

/// Assigns the lanes from `first_rest` on to the rests in order; the last slice's other lanes get no target. One thread per
/// lane.
__global__ void scatter_rests_kernel(const std::uint32_t* rest_targets, std::uint32_t rests,
                                     std::uint32_t lanes, std::uint32_t first_rest, std::uint32_t* targets,
                                     std::uint32_t* rest_lane) {
    const std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= lanes) return;
    targets[first_rest + i] = i < rests ? rest_targets[i] : no_target;
    if (i < rests) rest_lane[rest_targets[i]] = first_rest + i;
}

/// The length of the first lane of each slice, which is its maximum. One thread per slice.
__global__ void find_widths_kernel(const std::uint32_t* keys, std::uint32_t first_rest, std::uint32_t slices,
                                   std::uint32_t* widths) {
    const std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < slices)
        widths[i] = 32 * i < first_rest ? segment_links : segment_links - keys[32 * i - first_rest];
}

struct group_places {
    const std::uint64_t *first_whole, *begins;
    const std::uint32_t* rest_lane;
    void* ids;
};
struct all_places {
    group_places groups[max_hot_groups + 1];
};

template <class Id>
__device__ void put(const group_places& group, std::uint32_t target, std::uint32_t k, Id id) {
    const std::uint64_t first = group.first_whole[target];
    const std::uint64_t whole = group.first_whole[target + 1] - first, segment = k / segment_links;
    const std::uint64_t lane = segment < whole ? first + segment : group.rest_lane[target];
    const std::uint64_t begin = group.begins[lane / 32];
    const auto width = static_cast<std::uint32_t>(group.begins[lane / 32 + 1] - begin);
    static_cast<Id*>(group.ids)[begin * 32 + id_position<Id>(width, static_cast<std::uint32_t>(lane % 32),
                                                             k % segment_links)] = id;
}

/// Writes links_a_block links per block to their places. `counts` fall to 0.
__global__ void __launch_bounds__(block_threads)
    scatter_links_kernel(link_chunk links, const std::uint32_t* slot_of, slot_range targets,
                         std::uint32_t table_slots, std::uint32_t hot_groups, std::uint32_t* counts,
                         all_places places) {
    __shared__ std::uint32_t ends[2];
    const std::uint64_t begin = std::uint64_t{blockIdx.x} * links_a_block;
    const std::uint64_t end = min(begin + links_a_block, links.count);
    find_targets(links, begin, end, ends);
    for (std::uint64_t i = begin + threadIdx.x; i < end; i += block_threads) {
        const std::uint32_t target =
            slot_of[target_of(links.offsets, ends[0], ends[1], links.first + i)] - targets.first;
        if (target >= targets.size) continue;
        const std::uint32_t source = slot_of[links.sources[i]];
        const std::uint32_t group = min(source / table_slots, hot_groups);
        const std::uint32_t k = atomicSub(counts + std::uint64_t{group} * targets.size + target, 1u) - 1;
        if (group < hot_groups)
            put(places.groups[group], target, k, static_cast<std::uint16_t>(source % table_slots));
        else
            put(places.groups[group], target, k, source);
    }
}

template <class T>
T value_at(cuda_place& place, const cuda_array<T>& array, std::size_t i) {
    return to_host(place, array.span().subspan(i, 1))[0];
}

}  // namespace

/// State held between counting and placing.
struct sliced_ell::under_way {
    cuda_array<std::uint32_t> counts;                      ///< groups · slots
    std::vector<cuda_array<std::uint64_t>> first_whole{};  ///< per group: the first lane of each slot
    std::vector<cuda_array<std::uint32_t>> rest_lane{};    ///< per group: the lane of each slot's rest
};

void sliced_ell::number_nodes(cuda_place& place, const link_graph_view& graph,
                              const sliced_ell_layout& layout) {
    const std::uint32_t n = graph.nodes;
    const input_array<cuda_place, std::uint64_t> degrees(place, graph.out_degrees, "out-degrees");
    const cuda_array<std::uint32_t> keys(place, n, "the order of nodes"),
        order(place, n, "the order of nodes");
    QUERN_LAUNCH(place, thread_each(n), order_nodes_kernel, degrees.data(), n, keys.data(), order.data());
    primitives::sort_pairs<std::uint32_t, std::uint32_t>(place, keys.span(), order.span());

    const auto all_in_one = static_cast<std::uint32_t>((std::uint64_t{n} + 64) / 64 * 64);
    const bool in_cache = std::uint64_t{n} * sizeof(std::int32_t) <= place.l2_bytes();
    const std::uint32_t suits = in_cache ? table_slots_in_cache : table_slots_beyond;
    constexpr std::size_t other_shared = 1024;  // a block's other shared memory
    const auto fit = static_cast<std::uint32_t>(place.abilities().dynamic_shared(other_shared) /
                                                sizeof(std::int32_t) / 64 * 64);
    const std::uint32_t table =
        std::min({layout.table_slots != 0 ? layout.table_slots : suits, all_in_one, fit});
    const cuda_array<std::uint64_t> links(place, max_hot_groups);
    place.fill_bytes(links.data(), 0, links.size() * sizeof(std::uint64_t));
    QUERN_LAUNCH(place, (launch_shape{dim3(16, max_hot_groups), block_threads}), sum_degrees_kernel,
                 degrees.data(), order.data(), n, table - 1,
                 reinterpret_cast<unsigned long long*>(links.data()));
    const auto links_of = to_host(place, links.span());
    // A link of a hot group saves 32 bytes from the second-level cache. The group's table costs every multiprocessor 4
    // bytes per slot from there, and its targets one addition each.
    const std::uint64_t least = std::uint64_t{place.multiprocessors()} * table / 8;
    std::uint32_t hot = 0, max = max_hot_groups;
    if (layout.hot_groups >= 0) max = static_cast<std::uint32_t>(layout.hot_groups);
    std::uint64_t all_hot = 0, before = 0;
    while (hot < max && std::uint64_t{hot} * (table - 1) < n &&
           (layout.hot_groups >= 0 || links_of[hot] >= least))
        all_hot += links_of[hot++];
    for (std::uint32_t g = 0; g < hot; ++g) {
        before += links_of[g];
        view_.cold_share[g] = g + 1 == hot || all_hot == 0
                                  ? 65536
                                  : static_cast<std::uint32_t>(static_cast<double>(before) /
                                                               static_cast<double>(all_hot) * 65536);
    }
    view_.hot_groups = hot;
    view_.table_slots = table;

    slot_of_ = cuda_array<std::uint32_t>(place, n, "the order of nodes");
    const std::uint32_t tables = std::max(hot, 1u);  // even without hot groups, one slot holds 0
    QUERN_LAUNCH(place, thread_each(n), number_slots_kernel, order.data(), n, table - 1, tables,
                 slot_of_.data());
    slots_ = {n, slot_at(n - 1, table - 1, tables) + 1, slot_of_.data()};
    const cuda_array<std::uint32_t> linked(place, 1);
    place.fill_bytes(linked.data(), 0, sizeof(std::uint32_t));
    QUERN_LAUNCH(place, thread_each(n), count_linked_kernel, keys.data(), n, linked.data());
    const std::uint32_t sending = value_at(place, linked, 0);
    sending_slots_ = sending == 0 ? 0 : slot_at(sending - 1, table - 1, tables) + 1;
    for (std::uint32_t g = 0; g < hot; ++g)
        view_.hot_slots[g] = std::min(table, (slots_.slots - g * table + 3) / 4 * 4);
}

void sliced_ell::choose_targets(cuda_place& place, device_span<const std::uint64_t> offsets,
                                const device_share& share) {
    targets_ = {0, slots_.slots};
    if (share.count == 1) return;
    const std::size_t slots = slots_.slots;
    const cuda_array<std::uint64_t> work(place, slots, "the work of nodes"),
        work_before(place, slots + 1, "the work of nodes");
    place.fill_bytes(work.data(), 0, work.span().size_bytes());
    QUERN_LAUNCH(place, thread_each(slots_.nodes), weigh_slots_kernel, offsets.data(), slots_.nodes,
                 slot_of_.data(), work.data());
    primitives::exclusive_scan<std::uint64_t, std::uint64_t>(place, work.span(), work_before.span());
    const cuda_array<std::uint32_t> bounds(place, share.count + 1);
    QUERN_LAUNCH(place, (launch_shape{1, share.count + 1}), find_bounds_kernel, work_before.data(),
                 slots_.slots, bounds.data(), share.count);
    const auto found = to_host(place, bounds.span().subspan(share.index, 2));
    targets_ = {found[0], found[1] - found[0]};
}

sliced_ell::group sliced_ell::lay_out(cuda_place& place, under_way& work, std::uint32_t g) const {
    constexpr const char* what_for = "the order of links";
    const std::uint32_t slots = targets_.size;
    const cuda_array<std::uint32_t> whole(place, slots, what_for), keys(place, slots, what_for),
        rest_targets(place, slots, what_for);
    QUERN_LAUNCH(place, thread_each(slots), cut_segments_kernel, work.counts.data() + std::size_t{g} * slots,
                 slots, whole.data(), keys.data(), rest_targets.data());
    auto& first_whole = work.first_whole.emplace_back(place, std::size_t{slots} + 1, what_for);
    auto& rest_lane = work.rest_lane.emplace_back(place, slots, what_for);
    primitives::exclusive_scan<std::uint32_t, std::uint64_t>(place, whole.span(), first_whole.span());
    primitives::sort_pairs<std::uint32_t, std::uint32_t>(place, keys.span(), rest_targets.span(),
                                                         {.key_bits = 7});
    const cuda_array<std::uint32_t> rest_count(place, 1);
    place.fill_bytes(rest_count.data(), 0, sizeof(std::uint32_t));
    QUERN_LAUNCH(place, thread_each(slots), count_rests_kernel, keys.data(), slots, rest_count.data());
    const auto wholes = static_cast<std::uint32_t>(value_at(place, first_whole, slots));
    const std::uint32_t rests = value_at(place, rest_count, 0);

    group made;
    made.slices = static_cast<std::uint32_t>((std::uint64_t{wholes} + rests + 31) / 32);
    made.targets = cuda_array<std::uint32_t>(place, std::size_t{made.slices} * 32, "links");
    primitives::load_balancing_search<std::uint32_t>(place, first_whole.span(),
                                                     made.targets.span().first(wholes));
    const std::uint32_t lanes = made.slices * 32 - wholes;
    QUERN_LAUNCH(place, thread_each(lanes), scatter_rests_kernel, rest_targets.data(), rests, lanes, wholes,
                 made.targets.data(), rest_lane.data());
    const cuda_array<std::uint32_t> widths(place, made.slices, what_for);
    QUERN_LAUNCH(place, thread_each(made.slices), find_widths_kernel, keys.data(), wholes, made.slices,
                 widths.data());
    made.begins = cuda_array<std::uint64_t>(place, std::size_t{made.slices} + 1, "links");
    primitives::exclusive_scan<std::uint32_t, std::uint64_t>(place, widths.span(), made.begins.span());
    const std::uint64_t ids = 32 * value_at(place, made.begins, made.slices);
    if (g < view_.hot_groups) {
        made.ids16 = cuda_array<std::uint16_t>(place, ids, "links");
        place.fill_bytes(made.ids16.data(), 0, made.ids16.span().size_bytes());
    } else {
        made.ids32 = cuda_array<std::uint32_t>(place, ids, "links");
        place.fill_bytes(made.ids32.data(), 0, made.ids32.span().size_bytes());
    }
    return made;
}

sliced_ell::sliced_ell(cuda_place& place, const link_graph_view& graph, const sliced_ell_layout& layout,
                       const device_share& share) {
    number_nodes(place, graph, layout);
    const input_array<cuda_place, std::uint64_t> offsets(place, graph.offsets, "offsets of links");
    choose_targets(place, offsets.span(), share);
    const std::uint32_t groups = view_.hot_groups + 1;
    under_way work{cuda_array<std::uint32_t>(place, std::size_t{groups} * targets_.size, "counts of links")};
    place.fill_bytes(work.counts.data(), 0, work.counts.size() * sizeof(std::uint32_t));

    // A second copy of the sources besides the slices, or pieces that are copied twice.
    const std::uint64_t links = graph.sources.size();
    const shared_memory shared(place, graph.sources.data(), graph.sources.size_bytes());
    const auto* const in_place = static_cast<const std::uint32_t*>(shared.address());
    const bool at_once = in_place != nullptr || place.memory().left() / 4 >= 3 * links;
    const std::uint64_t piece =
        at_once ? links : std::min<std::uint64_t>(links, place.memory().left() / 64 + 1);
    const cuda_array<std::uint32_t> sources(place, in_place != nullptr ? 0 : piece, "links");
    const auto for_each_piece = [&](bool bring, auto&& enqueue) {
        for (std::uint64_t first = 0; first < links; first += piece) {
            const std::uint64_t count = std::min(piece, links - first);
            place.ctx().check_stop();
            if (bring && in_place == nullptr)
                place.copy_in(sources.data(), graph.sources.data() + first, count * sizeof(std::uint32_t));
            enqueue(link_chunk{offsets.data(), slots_.nodes,
                               in_place != nullptr ? in_place + first : sources.data(), first, count},
                    launch_shape{blocks_for(count, links_a_block), block_threads});
        }
    };
    for_each_piece(true, [&](const link_chunk& chunk, const launch_shape& shape) {
        QUERN_LAUNCH(place, shape, count_links_kernel, chunk, slot_of_.data(), targets_, view_.table_slots,
                     view_.hot_groups, work.counts.data());
    });
    all_places places{};
    for (std::uint32_t g = 0; g < groups; ++g) {
        groups_.push_back(lay_out(place, work, g));
        const group& made = groups_.back();
        void* ids = made.ids16.data();
        if (g == view_.hot_groups) ids = made.ids32.data();
        places.groups[g] = {work.first_whole[g].data(), made.begins.data(), work.rest_lane[g].data(), ids};
        ell_group& seen = g < view_.hot_groups ? view_.hot[g] : view_.cold;
        seen = {made.begins.data(), made.targets.data(), ids, made.slices};
    }
    for_each_piece(piece < links, [&](const link_chunk& chunk, const launch_shape& shape) {
        QUERN_LAUNCH(place, shape, scatter_links_kernel, chunk, slot_of_.data(), targets_, view_.table_slots,
                     view_.hot_groups, work.counts.data(), places);
    });
}

std::uint64_t sliced_ell::bytes() const {
    std::uint64_t sum = slot_of_.span().size_bytes();
    for (const group& g : groups_)
        sum += g.begins.span().size_bytes() + g.targets.span().size_bytes() + g.ids16.span().size_bytes() +
               g.ids32.span().size_bytes();
    return sum;
}

namespace {

constexpr std::int64_t not_here = std::numeric_limits<std::int64_t>::min();

/// `values` and `slot_of` begin with the same node. One thread per node.
template <class T>
__global__ void to_slots_kernel(const T* values, std::uint32_t nodes, const std::uint32_t* slot_of,
                                slot_range range, T* array) {
    const std::uint32_t v = blockIdx.x * blockDim.x + threadIdx.x;
    if (v >= nodes) return;
    const std::uint32_t slot = slot_of[v] - range.first;
    if (slot < range.size) array[slot] = values[v];
}
__global__ void to_nodes_kernel(const std::int64_t* array, std::uint32_t nodes, const std::uint32_t* slot_of,
                                slot_range range, std::int64_t* values) {
    const std::uint32_t v = blockIdx.x * blockDim.x + threadIdx.x;
    if (v >= nodes) return;
    const std::uint32_t slot = slot_of[v] - range.first;
    values[v] = slot < range.size ? array[slot] : not_here;
}

cuda::launch_shape thread_each(std::uint32_t nodes) {
    return {cuda::blocks_for(nodes, block_threads), block_threads};
}

/// The nodes of a range of slots that are nodes.
std::uint32_t nodes_in(const node_slots& slots, const slot_range& range) {
    return std::min(range.end(), slots.nodes) - std::min(range.first, slots.nodes);
}

/// Calls work(first, count) for pieces of the nodes as large as `spare`.
template <class Work>
void for_each_piece_of(const node_slots& slots, const slot_range& range,
                       const cuda_array<std::uint64_t>& spare, const Work& work) {
    if (range.size == 0) return;
    const std::size_t piece = std::min<std::size_t>(spare.size(), slots.nodes);
    for (std::size_t first = 0; first < slots.nodes; first += piece)
        work(first, static_cast<std::uint32_t>(std::min<std::size_t>(piece, slots.nodes - first)));
}

}  // namespace

template <class T>
void to_slots(cuda_place& place, const node_slots& slots, const slot_range& range, std::span<const T> values,
              const cuda_array<T>& array, const cuda_array<std::uint64_t>& spare) {
    if (slots.slot_of == nullptr) {
        place.copy_in(array.data(), values.data() + range.first,
                      std::uint64_t{nodes_in(slots, range)} * sizeof(T));
        return;
    }
    T* const by_node = reinterpret_cast<T*>(spare.data());
    for_each_piece_of(slots, range, spare, [&](std::size_t first, std::uint32_t count) {
        place.copy_in(by_node, values.data() + first, count * sizeof(T));
        QUERN_LAUNCH(place, thread_each(count), to_slots_kernel<T>, by_node, count, slots.slot_of + first,
                     range, array.data());
    });
}
template void to_slots<std::int64_t>(cuda_place&, const node_slots&, const slot_range&,
                                     std::span<const std::int64_t>, const cuda_array<std::int64_t>&,
                                     const cuda_array<std::uint64_t>&);
template void to_slots<std::uint64_t>(cuda_place&, const node_slots&, const slot_range&,
                                      std::span<const std::uint64_t>, const cuda_array<std::uint64_t>&,
                                      const cuda_array<std::uint64_t>&);

void to_nodes(cuda_place& place, const node_slots& slots, const slot_range& range,
              const cuda_array<std::int64_t>& array, const cuda_array<std::uint64_t>& spare,
              std::span<std::int64_t> values) {
    if (slots.slot_of == nullptr) {
        const std::size_t count = nodes_in(slots, range);
        if (count != 0)
            copy_out<std::int64_t>(place, array.span().first(count), values.subspan(range.first, count));
        return;
    }
    auto* const by_node = reinterpret_cast<std::int64_t*>(spare.data());
    const bool all = range.size == slots.slots;
    std::vector<std::int64_t> piece;
    for_each_piece_of(slots, range, spare, [&](std::size_t first, std::uint32_t count) {
        QUERN_LAUNCH(place, thread_each(count), to_nodes_kernel, array.data(), count, slots.slot_of + first,
                     range, by_node);
        const device_span<const std::int64_t> made(by_node, count);
        if (all) return copy_out<std::int64_t>(place, made, values.subspan(first, count));
        piece.resize(count);
        copy_out<std::int64_t>(place, made, piece);
        for (std::size_t i = 0; i < count; ++i)
            if (piece[i] != not_here) values[first + i] = piece[i];
    });
}

}  // namespace quern::link_rank_detail
