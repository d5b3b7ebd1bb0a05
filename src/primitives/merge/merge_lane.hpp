// SPDX-License-Identifier: Apache-2.0
// One sequential merge: the pairs of sorted pieces between two exact cuts, in order. Each step of a merge depends on the
// previous one (the winning run decides what is read next), so a processor idles most of the time. A thread therefore
// interleaves several lanes, cut at exact ranks, whose steps are independent.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>

#include "primitives/keys.hpp"
#include "primitives/merge/loser_tree.hpp"
#include "primitives/merge/merge_pieces.hpp"
#include "primitives/merge/rank_split.hpp"

namespace quern::primitives {

/// The prefetch distance. A merge of more runs than the processor's own prefetcher follows (32 streams, and each run is
/// two) would wait for most lines.
inline constexpr std::size_t prefetched_bytes = 512;

/// The position in a run: within a piece, and the run's remaining pieces.
template <class Key, class Value>
struct run_cursor {
    const Key* key;
    const Key* end;
    const Value* value;
    std::size_t next_piece, last_piece;  ///< the run's pieces after this one
};

/// The part [begins[p], ends[p]) of every piece p, to be merged.
template <class Key, class Value>
struct piece_parts {
    std::span<const sorted_piece<Key, Value>> pieces;
    std::span<const std::uint64_t> begins, ends;

    std::uint64_t pairs() const {
        std::uint64_t sum = 0;
        for (std::size_t p = 0; p < pieces.size(); ++p) sum += ends[p] - begins[p];
        return sum;
    }
    /// Moves a cursor to its run's next non-empty piece; false at the end of the run.
    bool go_on(run_cursor<Key, Value>& run) const {
        for (; run.next_piece < run.last_piece; ++run.next_piece) {
            const std::size_t p = run.next_piece;
            if (begins[p] == ends[p]) continue;
            run.key = pieces[p].keys + begins[p];
            run.end = pieces[p].keys + ends[p];
            if constexpr (!std::is_same_v<Value, no_value>) run.value = pieces[p].values + begins[p];
            ++run.next_piece;
            return true;
        }
        return false;
    }
};

template <class Key, class Value>
class merge_lane {
  public:
    using tree = loser_tree<key_bits_t<Key>>;
    using entry = typename tree::entry;

    /// `runs` provides a cursor for each non-empty run, `nodes` tree::entries_for that many; both are used until the lane
    /// ends.
    merge_lane(const piece_parts<Key, Value>& parts, order direction, std::span<run_cursor<Key, Value>> runs,
               std::span<entry> nodes, Key* out_keys, Value* out_values)
        : parts_(parts),
          direction_(direction),
          runs_(runs),
          tree_(first_entries(nodes)),
          out_keys_(out_keys),
          out_values_(out_values) {}

    /// Writes the next pair, which must exist.
    template <unsigned Depth>
    void step() {
        const std::uint32_t leaf = tree::leaf_of(tree_.winner());
        run_cursor<Key, Value>& run = runs_[leaf];
        __builtin_prefetch(run.key + prefetched_bytes / sizeof(Key));
        *out_keys_++ = *run.key++;
        if constexpr (!std::is_same_v<Value, no_value>) {
            __builtin_prefetch(run.value + prefetched_bytes / sizeof(Value));
            *out_values_++ = *run.value++;
        }
        if (run.key == run.end) [[unlikely]] {
            if (!parts_.go_on(run)) return tree_.template replace_winner<Depth>(tree::nothing_left);
        }
        tree_.template replace_winner<Depth>(entry_of(leaf));
    }

  private:
    entry entry_of(std::uint32_t leaf) const {
        return tree::make_entry(ordered_bits(*runs_[leaf].key, direction_), leaf);
    }

    std::span<entry> first_entries(std::span<entry> nodes) {
        const std::span<entry> leaves = nodes.last(nodes.size() / 2);
        std::fill(leaves.begin(), leaves.end(), tree::nothing_left);
        std::uint32_t leaf = 0;
        for (std::size_t p = 0; p < parts_.pieces.size();) {
            run_cursor<Key, Value> run{nullptr, nullptr, nullptr, p, p};
            while (p < parts_.pieces.size() && parts_.pieces[p].run == parts_.pieces[run.next_piece].run) ++p;
            run.last_piece = p;
            if (!parts_.go_on(run)) continue;
            runs_[leaf] = run;
            leaves[leaf] = entry_of(leaf);
            ++leaf;
        }
        return nodes;
    }

    piece_parts<Key, Value> parts_;
    order direction_;
    std::span<run_cursor<Key, Value>> runs_;
    tree tree_;
    Key* out_keys_;
    Value* out_values_;
};

}  // namespace quern::primitives
