// SPDX-License-Identifier: Apache-2.0
// The links of a graph on a GPU, arranged for one question that is asked again and again: for every node, the sum of
// what its sources send. The sums are of integers, so every arrangement gives the same bits; this one is for speed.
//
// What bounds the plain way (rows of sources, each gathered from a table of all nodes) is the second-level cache: every
// gathered value moves 32 bytes from there. So:
//   - Nodes are renumbered by falling out-degree, which is how often they are gathered. The hottest 57,343 stand in the
//     shared memory of every multiprocessor; in an R-MAT graph two links of three come from them.
//   - Their links are kept apart, in 16 bits each, which halves what is read. Where the next 57,343 have enough links,
//     they are a second group, for which the table is filled anew; and so on. All other links, of 32 bits, form the
//     cold group, which is gathered through the caches, at the same time.
//   - Within a group each node's links are cut into segments of 64, and the segments ordered by falling length. 32 of
//     them are a slice: a lane a segment, ids interleaved so that a warp reads whole lines. So no lane waits for a
//     longer one, whatever the degrees are (the sliced form of Kreutzer et al. 2014, sorted as a whole).
#pragma once

#include <cstdint>
#include <vector>

#include "device/array.hpp"
#include "ops/link_rank/slice_layout.hpp"
#include "quern/ops/link_rank.hpp"

namespace quern::link_rank_detail {

inline constexpr std::uint32_t segment_links = 64;
inline constexpr std::uint32_t no_target = 0xffffffff;

/// Where a node's values stand. The first slot of each table is nobody's and holds 0: what fills slices up is read there.
struct node_slots {
    std::uint32_t nodes = 0, slots = 0;      ///< slots ≤ nodes + most_hot_groups
    const std::uint32_t* slot_of = nullptr;  ///< a node, in device memory; null: every node its own
};

/// Slices of one group, in device memory. Slice i holds ids 32·begins[i] … 32·begins[i + 1], a lane's share of which is
/// placed as id_place says; lane l adds to targets[32·i + l].
struct slice_group {
    const std::uint64_t* begins;
    const std::uint32_t* targets;
    const void* ids;  ///< 16 bits, within the group's table; cold: 32 bits, slots
    std::uint32_t slices;
};
struct slices_view {
    slice_group hot[most_hot_groups], cold;
    std::uint32_t hot_groups, table_slots;
    std::uint32_t hot_slots[most_hot_groups];  ///< of each table, in fours
    std::uint32_t
        cold_share[most_hot_groups];  ///< of 65536: what is done of the cold group by the end of this one
};

/// Ids a lane reads at once.
template <class Id>
inline constexpr unsigned ids_together = 16 / sizeof(Id);

/// Where id k of a lane stands in a slice of `width` ids a lane: first in groups of 16 bytes, then of 8, 4 and 2 as
/// `width` needs them.
template <class Id>
constexpr std::uint32_t id_place(std::uint32_t width, std::uint32_t lane, std::uint32_t k) {
    constexpr std::uint32_t most = ids_together<Id>;
    const std::uint32_t whole = width / most * most;
    if (k < whole) return k / most * most * 32 + lane * most + k % most;
    std::uint32_t before = whole * 32;
    k -= whole;
    for (std::uint32_t group = most / 2; group != 0; group /= 2) {
        if ((width & group) == 0) continue;
        if (k < group) return before + lane * group + k;
        k -= group;
        before += group * 32;
    }
    return before;  // k ≥ width: nowhere
}

class link_slices {
  public:
    /// Throws out_of_memory where it does not fit; then nothing is held. `graph` is in host memory and checked, no
    /// node has 2^32 links or more. Synchronises. Memory beside while it works: 20 bytes a node for each group, and a
    /// copy of the sources where there is room.
    link_slices(cuda_place& place, const link_graph_view& graph, const slice_layout& layout);

    node_slots slots() const { return slots_; }
    const slices_view& view() const { return view_; }
    std::uint64_t bytes() const;

    /// sums[target] += Σ table[source], by slots, modulo 2^64. `table` is aligned to 16 bytes, slots without a node hold
    /// 0, and three more values may be read behind it. Does nothing where *halted is not 0. Does not synchronise.
    void add(cuda_place& place, const std::int32_t* table, std::uint64_t* sums,
             const std::uint32_t* halted) const;
    void add(cuda_place& place, const std::int64_t* table, std::uint64_t* sums,
             const std::uint32_t* halted) const;

  private:
    struct group {
        cuda_array<std::uint64_t> begins;
        cuda_array<std::uint32_t> targets;
        cuda_array<std::uint16_t> ids16;
        cuda_array<std::uint32_t> ids32;
        std::uint32_t slices = 0;
    };
    struct under_way;
    void number_nodes(cuda_place& place, const link_graph_view& graph, const slice_layout& layout);
    group lay_out(cuda_place& place, under_way& work, std::uint32_t g) const;

    node_slots slots_;
    slices_view view_{};
    cuda_array<std::uint32_t> slot_of_;
    std::vector<group> groups_;  ///< hot ones, then the cold one
};

}  // namespace quern::link_rank_detail
