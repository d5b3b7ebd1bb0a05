// SPDX-License-Identifier: Apache-2.0
// Arranges the links of a graph on a GPU for one repeated computation: for every node, the sum of what its sources send.
// The sums are of integers, so every arrangement gives the same bits; this one is for speed.
//
// The plain method (rows of sources, each gathered from a table of all nodes) is bound by the second-level cache: every
// gathered value moves 32 bytes from it. Therefore:
//   - Nodes are renumbered by descending out-degree, which is how often they are gathered. The hottest 57,343 are kept in
//     the shared memory of every multiprocessor; in an R-MAT graph two links of three come from them.
//   - Their links are stored separately, in 16 bits each, which halves the reads. Where the next 57,343 have enough links,
//     they form a second group, for which the table is refilled; and so on.
//   - All other links, of 32 bits, form the cold group. It is gathered through the caches at the same time.
//   - Within a group each node's links are cut into segments of 64, ordered by descending length. 32 segments form a slice:
//     one per lane, ids interleaved so that a warp reads whole lines. So no lane waits for a longer one, whatever the
//     degrees (the sliced ELL of Kreutzer et al. 2014, sorted globally).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "device/array.hpp"
#include "ops/link_rank/sliced_ell_layout.hpp"
#include "quern/ops/link_rank.hpp"

namespace quern::link_rank_detail {

inline constexpr std::uint32_t segment_links = 64;
inline constexpr std::uint32_t no_target = 0xffffffff;

/// The slots of the nodes' values. The first slot of each table has no node and holds 0: slice padding reads it.
struct node_slots {
    std::uint32_t nodes = 0, slots = 0;      ///< slots ≤ nodes + max_hot_groups
    const std::uint32_t* slot_of = nullptr;  ///< per node, in device memory; null: identity
};

/// A range of slots.
struct slot_range {
    std::uint32_t first = 0, size = 0;
    std::uint32_t end() const { return first + size; }
};
/// The slices of one group, in device memory. Slice i holds ids 32·begins[i] … 32·begins[i + 1]; id_position gives the
/// position of a lane's ids. Lane l adds to targets[32·i + l].
struct ell_group {
    const std::uint64_t* begins;
    const std::uint32_t* targets;
    const void* ids;  ///< 16 bits, within the group's table; cold: 32 bits, slots
    std::uint32_t slices;
};
struct sliced_ell_view {
    ell_group hot[max_hot_groups], cold;
    std::uint32_t hot_groups, table_slots;
    std::uint32_t hot_slots[max_hot_groups];  ///< of each table, in units of four
    std::uint32_t
        cold_share[max_hot_groups];  ///< of 65536: how much of the cold group is done by the end of this one
};

/// The number of ids that a lane reads at once.
template <class Id>
inline constexpr unsigned ids_together = 16 / sizeof(Id);

/// The position of a lane's id k in a slice of `width` ids per lane: first in groups of 16 bytes, then of 8, 4 and 2 as
/// `width` needs them.
template <class Id>
constexpr std::uint32_t id_position(std::uint32_t width, std::uint32_t lane, std::uint32_t k) {
    constexpr std::uint32_t max = ids_together<Id>;
    const std::uint32_t whole = width / max * max;
    if (k < whole) return k / max * max * 32 + lane * max + k % max;
    std::uint32_t before = whole * 32;
    k -= whole;
    for (std::uint32_t group = max / 2; group != 0; group /= 2) {
        if ((width & group) == 0) continue;
        if (k < group) return before + lane * group + k;
        k -= group;
        before += group * 32;
    }
    return before;  // k ≥ width: no position
}

class sliced_ell {
  public:
    /// Throws out_of_memory where the slices do not fit; then nothing is held. `graph` is in host memory and checked; no
    /// node has 2^32 links or more. Synchronises. Extra memory during construction: 20 bytes per node and group, and a copy
    /// of the sources if it fits. Of several devices each reads all links, and keeps those of its range.
    sliced_ell(cuda_place& place, const link_graph_view& graph, const sliced_ell_layout& layout,
               const device_share& share = {});

    node_slots slots() const { return slots_; }
    slot_range targets() const {
        return targets_;
    }  ///< whose links are here: all, unless it is one of several
    /// The number of first slots beyond which no node has links out: nothing but 0 is ever sent from there.
    std::uint32_t sending_slots() const { return sending_slots_; }
    /// How the nodes are numbered, for other devices.
    sliced_ell_layout layout() const { return {view_.table_slots, static_cast<int>(view_.hot_groups)}; }
    const sliced_ell_view& view() const { return view_; }
    std::uint64_t bytes() const;

    /// sums[target − first of targets()] += Σ table[source], by slots, modulo 2^64. `table` is aligned to 16 bytes, slots without a node hold 0,
    /// and three more values past its end must be readable. Does nothing where *halted is not 0. Does not synchronise.
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
    void number_nodes(cuda_place& place, const link_graph_view& graph, const sliced_ell_layout& layout);
    void choose_targets(cuda_place& place, device_span<const std::uint64_t> offsets,
                        const device_share& share);
    group lay_out(cuda_place& place, under_way& work, std::uint32_t g) const;

    node_slots slots_;
    slot_range targets_;
    std::uint32_t sending_slots_ = 0;
    sliced_ell_view view_{};
    cuda_array<std::uint32_t> slot_of_;
    std::vector<group> groups_;  ///< hot groups, then the cold one
};

// Copies values of nodes to a GPU and back: by node on the host, by slot on the device. `array` has the slots of `range`;
// `spare` is for one value or more; the more, the fewer copies.

/// array[slot of v − range.first] = values[v] for the nodes of the range; other slots do not change. T: 64-bit integers.
template <class T>
void to_slots(cuda_place& place, const node_slots& slots, const slot_range& range, std::span<const T> values,
              const cuda_array<T>& array, const cuda_array<std::uint64_t>& spare);

/// values[v] = array[slot of v − range.first] for the nodes of the range; others do not change. Synchronises. No value of
/// the array is the smallest of its type.
void to_nodes(cuda_place& place, const node_slots& slots, const slot_range& range,
              const cuda_array<std::int64_t>& array, const cuda_array<std::uint64_t>& spare,
              std::span<std::int64_t> values);

}  // namespace quern::link_rank_detail
