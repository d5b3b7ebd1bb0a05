// SPDX-License-Identifier: Apache-2.0
// A tree of losers (Knuth, The Art of Computer Programming 3, 5.4.1): the minimum of k keys, of which one is replaced at a
// time.
// - A replacement is compared with the losers on its way from leaf to root, one comparison per level; no other node is
//   accessed.
// - An entry is one number, the key's ordered bits above the leaf. So entries differ, equal keys come out in the order of
//   their leaves, and a match is a minimum and a maximum, without a branch.
// - No key means "nothing left": that is the number with all bits set, whose leaf does not exist.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

namespace quern::primitives {

__extension__ using wide_number = unsigned __int128;

/// Key bits above, leaf below.
template <class Bits>
using tree_entry = std::conditional_t<sizeof(Bits) == 4, std::uint64_t, wide_number>;

template <class Bits>
class loser_tree {
  public:
    using entry = tree_entry<Bits>;
    static constexpr entry nothing_left = ~entry{0};
    static constexpr unsigned any_depth = ~0U;
    static constexpr unsigned leaf_bits = 8 * sizeof(Bits);

    static constexpr entry make_entry(Bits key, std::uint32_t leaf) { return entry{key} << leaf_bits | leaf; }
    static constexpr std::uint32_t leaf_of(entry e) { return static_cast<std::uint32_t>(e); }

    /// The number of tree entries for that many leaves (fewer than 2³² − 1): two for each leaf, with the number of leaves
    /// rounded up to a power of two, so that all have equal depth.
    static constexpr std::size_t entries_for(std::size_t leaves) { return 2 * std::bit_ceil(leaves); }

    /// Over memory of entries_for(leaves) entries, whose second half has the leaves' first entries; leaves that do not
    /// exist have nothing_left.
    explicit loser_tree(std::span<entry> nodes) : nodes_(nodes.data()), leaves_(nodes.size() / 2) {
        // Node n keeps the winner of its two sides until its parent has been played, then the loser.
        for (std::size_t n = leaves_ - 1; n > 0; --n) nodes_[n] = least(nodes_[2 * n], nodes_[2 * n + 1]);
        winner_ = leaves_ > 1 ? nodes_[1] : nodes_[leaves_];
        for (std::size_t n = 1; n < leaves_; ++n) nodes_[n] = greatest(nodes_[2 * n], nodes_[2 * n + 1]);
    }

    entry winner() const { return winner_; }

    /// Levels between leaves and winner.
    unsigned depth() const { return static_cast<unsigned>(std::countr_zero(leaves_)); }

    /// The winner's leaf has a new entry. `Depth` is depth(), or any_depth: a depth known at compile time gives a loop
    /// without an unpredictable end, and the steps of two trees overlap better.
    template <unsigned Depth>
    void replace_winner(entry fresh) {
        std::size_t n = leaves_ + leaf_of(winner_);
        const unsigned levels = Depth == any_depth ? depth() : Depth;
#pragma GCC unroll 8
        for (unsigned level = 0; level < levels; ++level) {
            n /= 2;
            const entry loser = nodes_[n];
            nodes_[n] = greatest(loser, fresh);
            fresh = least(loser, fresh);
        }
        winner_ = fresh;
    }

  private:
    static constexpr entry least(entry a, entry b) { return a < b ? a : b; }
    static constexpr entry greatest(entry a, entry b) { return a < b ? b : a; }

    entry* nodes_;
    std::size_t leaves_;
    entry winner_;
};

}  // namespace quern::primitives
