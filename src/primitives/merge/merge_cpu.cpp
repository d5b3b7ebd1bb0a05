// SPDX-License-Identifier: Apache-2.0
// Merging on the CPU: the output is cut into chunks at exact ranks (rank_split.hpp), which free threads take. A chunk is
// two lanes whose steps a thread interleaves. Every cut is where the single stable merge has it, so the
// result does not depend on their number.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "device/array.hpp"
#include "device/cpu/parallel.hpp"
#include "primitives/argument_checks.hpp"
#include "primitives/keys.hpp"
#include "primitives/merge/loser_tree.hpp"
#include "primitives/merge/merge.hpp"
#include "primitives/merge/rank_split.hpp"
#include "primitives/segments.hpp"

namespace quern::primitives {
namespace {

// One sequential merge: the pairs of sorted pieces between two exact cuts, in order. Each step of a merge depends on the
// previous one (the winning run decides what is read next), so a processor idles most of the time. A thread therefore
// interleaves several lanes, cut at exact ranks, whose steps are independent.

/// The prefetch distance. A merge of more runs than the processor's own prefetcher follows (32 streams, and each run is
/// two) would wait for most lines.
constexpr std::size_t prefetched_bytes = 512;

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

constexpr std::size_t max_chunk = std::size_t{1}
                                  << 20;  // pairs; milliseconds between checks of the stop flag
constexpr std::size_t min_chunk = std::size_t{1}
                                  << 14;      // handing work to a thread costs as much as few pairs
constexpr std::size_t pairs_per_piece = 128;  // a chunk must pay for its cuts through every piece

template <class Key, class Value>
std::size_t runs_with_pairs(const piece_parts<Key, Value>& parts) {
    std::size_t runs = 0;
    for (std::size_t p = 0, last = parts.pieces.size(); p < parts.pieces.size(); ++p) {
        if (parts.begins[p] == parts.ends[p]) continue;
        if (last == parts.pieces.size() || parts.pieces[p].run != parts.pieces[last].run) ++runs;
        last = p;
    }
    return runs;
}

/// One run alone needs no comparison.
template <class Key, class Value>
void copy_parts(const piece_parts<Key, Value>& parts, Key* out_keys, Value* out_values) {
    for (std::size_t p = 0; p < parts.pieces.size(); ++p) {
        const sorted_piece<Key, Value>& piece = parts.pieces[p];
        const std::size_t begin = parts.begins[p], count = parts.ends[p] - begin;
        out_keys = std::copy_n(piece.keys + begin, count, out_keys);
        if constexpr (!std::is_same_v<Value, no_value>)
            out_values = std::copy_n(piece.values + begin, count, out_values);
    }
}

/// Alternates two lanes. By value, so that their state can stay in registers.
template <unsigned Depth, class Lane>
void run_lanes(Lane first, Lane second, std::size_t first_pairs, std::size_t second_pairs) {
    const std::size_t both = std::min(first_pairs, second_pairs);
    for (std::size_t i = 0; i < both; ++i) {
        first.template step<Depth>();
        second.template step<Depth>();
    }
    for (std::size_t i = both; i < first_pairs; ++i) first.template step<Depth>();
    for (std::size_t i = both; i < second_pairs; ++i) second.template step<Depth>();
}

/// Calls run_lanes for the depth; beyond the largest, for any.
template <class Lane, unsigned... Depths>
void run_lanes_of_depth(unsigned depth, std::integer_sequence<unsigned, Depths...>, const Lane& first,
                        const Lane& second, std::size_t first_pairs, std::size_t second_pairs) {
    const bool known =
        ((depth == Depths && (run_lanes<Depths>(first, second, first_pairs, second_pairs), true)) || ...);
    if (!known) run_lanes<Lane::tree::any_depth>(first, second, first_pairs, second_pairs);
}

/// The memory of a thread for one chunk, besides the pairs.
template <class Key, class Value>
struct chunk_memory {
    using lane = merge_lane<Key, Value>;
    std::size_t pieces;
    cpu_array<std::uint64_t> numbers;
    cpu_array<run_cursor<Key, Value>> cursors;
    cpu_array<typename lane::entry> nodes;

    chunk_memory(cpu_place& place, std::size_t count)
        : pieces(count),
          numbers(place, 5 * count, "cuts of a merge"),
          cursors(place, 2 * count, "runs of a merge"),
          nodes(place, 2 * lane::tree::entries_for(count), "trees of a merge") {}
    std::span<std::uint64_t> cut(std::size_t which) { return numbers.span().subspan(which * pieces, pieces); }
    std::span<std::uint64_t> capacity() { return numbers.span().last(2 * pieces); }
};

template <class Key, class Value>
void merge_chunk(chunk_memory<Key, Value>& memory, std::span<const sorted_piece<Key, Value>> pieces,
                 item_range ranks, Key* out_keys, Value* out_values, order direction) {
    using lane = merge_lane<Key, Value>;
    const std::size_t middle = ranks.begin + (ranks.end - ranks.begin) / 2;
    split_by_rank(pieces, ranks.begin, direction, memory.cut(0), memory.capacity());
    split_by_rank(pieces, ranks.end, direction, memory.cut(2), memory.capacity());
    const piece_parts<Key, Value> whole{pieces, memory.cut(0), memory.cut(2)};
    const std::size_t runs = runs_with_pairs(whole);
    if (runs == 1) return copy_parts(whole, out_keys, out_values);
    split_by_rank(pieces, middle, direction, memory.cut(1), memory.capacity());
    const std::size_t entries = lane::tree::entries_for(runs), before = middle - ranks.begin;
    const auto nodes = memory.nodes.span();
    const auto cursors = memory.cursors.span();
    const lane first(piece_parts<Key, Value>{pieces, memory.cut(0), memory.cut(1)}, direction,
                     cursors.first(runs), nodes.first(entries), out_keys, out_values);
    const lane second(piece_parts<Key, Value>{pieces, memory.cut(1), memory.cut(2)}, direction,
                      cursors.last(runs), nodes.subspan(entries, entries), out_keys + before,
                      out_values == nullptr ? nullptr : out_values + before);
    run_lanes_of_depth(static_cast<unsigned>(std::countr_zero(entries)) - 1,
                       std::integer_sequence<unsigned, 1, 2, 3, 4, 5, 6>(), first, second, before,
                       ranks.end - middle);
}

template <class Key, class Value>
std::vector<sorted_piece<Key, Value>> runs_at(const Key* keys, const Value* values,
                                              std::span<const std::uint64_t> offsets) {
    std::vector<sorted_piece<Key, Value>> pieces;
    for (std::size_t r = 0; r < segments_in(offsets.size()); ++r) {
        const std::uint64_t begin = offsets[r], end = offsets[r + 1];
        if (begin == end) continue;
        pieces.push_back({keys + begin, values == nullptr ? nullptr : values + begin, end - begin,
                          static_cast<std::uint32_t>(pieces.size())});
    }
    return pieces;
}

}  // namespace

template <sortable_key Key, class Value>
void merge_pieces(cpu_place& place, std::span<const sorted_piece<Key, Value>> pieces,
                  std::uint64_t first_rank, std::span<Key> out_keys, Value* out_values, order direction) {
    const std::size_t pairs = out_keys.size();
    const std::size_t least = std::max(min_chunk, pairs_per_piece * pieces.size());
    const std::size_t chunks = std::max(pieces_for(place, pairs, least), pairs / std::max(max_chunk, least));
    for_each_piece(place, chunks, [&](std::size_t s) {
        place.ctx().check_stop();
        chunk_memory<Key, Value> memory(place, pieces.size());
        const item_range out = piece_of(pairs, chunks, s);
        merge_chunk(memory, pieces, {first_rank + out.begin, first_rank + out.end},
                    out_keys.data() + out.begin, out_values == nullptr ? nullptr : out_values + out.begin,
                    direction);
    });
}

template <sortable_key Key, payload Value>
void merge_pairs(cpu_place& place, std::span<const Key> keys, std::span<const Value> values,
                 std::span<const std::uint64_t> offsets, std::span<Key> out_keys, std::span<Value> out_values,
                 order direction) {
    check_same_size("merge_pairs", "values", values.size(), "keys", keys.size());
    check_same_size("merge_pairs", "out_keys", out_keys.size(), "keys", keys.size());
    check_same_size("merge_pairs", "out_values", out_values.size(), "keys", keys.size());
    check_offsets(place, offsets, keys.size());
    const auto pieces = runs_at(keys.data(), values.data(), offsets);
    merge_pieces<Key, Value>(place, pieces, 0, out_keys, out_values.data(), direction);
}

template <sortable_key Key>
void merge_keys(cpu_place& place, std::span<const Key> keys, std::span<const std::uint64_t> offsets,
                std::span<Key> out_keys, order direction) {
    check_same_size("merge_keys", "out_keys", out_keys.size(), "keys", keys.size());
    check_offsets(place, offsets, keys.size());
    const auto pieces = runs_at<Key, no_value>(keys.data(), nullptr, offsets);
    merge_pieces<Key, no_value>(place, pieces, 0, out_keys, nullptr, direction);
}

// NOLINTBEGIN(bugprone-macro-parentheses): the arguments are types
#define QUERN_MERGE_PAIRS(Key, Value)                                                                \
    template void merge_pieces(cpu_place&, std::span<const sorted_piece<Key, Value>>, std::uint64_t, \
                               std::span<Key>, Value*, order);                                       \
    template void merge_pairs(cpu_place&, std::span<const Key>, std::span<const Value>,              \
                              std::span<const std::uint64_t>, std::span<Key>, std::span<Value>, order);
#define QUERN_MERGE(Key)                                                                       \
    QUERN_MERGE_PAIRS(Key, std::uint32_t)                                                      \
    QUERN_MERGE_PAIRS(Key, std::uint64_t)                                                      \
    template void merge_keys(cpu_place&, std::span<const Key>, std::span<const std::uint64_t>, \
                             std::span<Key>, order);
// NOLINTEND(bugprone-macro-parentheses)
QUERN_MERGE(std::uint32_t)
QUERN_MERGE(std::int32_t)
QUERN_MERGE(std::uint64_t)
QUERN_MERGE(std::int64_t)
QUERN_MERGE(float)
QUERN_MERGE(double)
#undef QUERN_MERGE
#undef QUERN_MERGE_PAIRS

}  // namespace quern::primitives
