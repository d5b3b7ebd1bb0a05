// SPDX-License-Identifier: Apache-2.0
// Finds a word among the rising words of a node's children. If there are many, a directory by the words' upper bits
// says where to search, so that a word is found with two memory accesses, which can be prefetched: first its entry,
// then the words.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>
#include <utility>

#include "device/cpu/parallel.hpp"
#include "device/paced_checks.hpp"
#include "tasks/ngrams/scratch_table.hpp"

namespace quern {

class child_words {
  public:
    static constexpr std::uint64_t words_an_entry = 4;

    /// `children`: for each node, where they begin among `words`, and the end. `vocabulary`: the greatest word.
    /// `starts`: of words / words_an_entry + 1 entries, to be filled.
    child_words(cpu_place& place, std::span<const std::uint64_t> children,
                std::span<const std::uint32_t> words, std::uint32_t vocabulary,
                scratch_table<std::uint32_t> starts)
        : words_(words),
          word_bits_(static_cast<unsigned>(std::bit_width(vocabulary))),
          starts_(std::move(starts)) {
        const std::size_t nodes = children.size() - 1, pieces = pieces_for(place, nodes, 1 << 12, 16);
        for_each_piece(place, pieces, [&](std::size_t p) {
            place.ctx().check_stop();
            const auto [begin, end] = piece_of(nodes, pieces, p);
            paced_checks checks(place.ctx(), neighbouring_values);
            for (std::size_t q = begin; q < end; ++q) {
                checks.after(1 + children[q + 1] - children[q]);
                fill({children[q], children[q + 1]});
            }
        });
    }

    struct range {
        std::uint64_t begin, end;
    };
    void fetch_entry(range among, std::uint32_t word) const {
        __builtin_prefetch(many(among) ? entry(among, word) : &words_[among.begin]);
    }
    /// The position of `word`, if it is one of them.
    range narrow(range among, std::uint32_t word) const {
        if (!many(among)) return among;
        const std::uint32_t* const of = entry(among, word);
        const bool last = of + 1 == entries(among) + (std::uint64_t{1} << entry_bits(among));
        const range found{of[0], last ? among.end : of[1]};
        __builtin_prefetch(&words_[found.begin]);
        return found;
    }
    /// The first that is not less.
    std::uint64_t find(range narrowed, std::uint32_t word) const {
        // Few remain, in unpredictable order: branch-free, because a branch would be mispredicted.
        const std::uint32_t* first = words_.data() + narrowed.begin;
        for (std::uint64_t left = narrowed.end - narrowed.begin; left != 0;) {
            const std::uint64_t half = (left + 1) / 2;
            first += half & (std::uint64_t{0} - std::uint64_t{first[half - 1] < word});
            left -= half;
        }
        return static_cast<std::uint64_t>(first - words_.data());
    }

  private:
    // The directory of a node has at most a quarter as many entries as the node has children, at the same relative
    // position: those of different nodes cannot overlap.
    static constexpr std::uint64_t min_many = 2 * words_an_entry;
    static bool many(range among) { return among.end - among.begin >= min_many; }
    unsigned entry_bits(range among) const {
        return static_cast<unsigned>(std::bit_width((among.end - among.begin) / words_an_entry | 1)) - 1;
    }
    std::uint32_t* entries(range among) const {
        return starts_.span().data() + (among.begin + words_an_entry - 1) / words_an_entry;
    }
    std::uint32_t* entry(range among, std::uint32_t word) const {
        return entries(among) + (word >> (word_bits_ - entry_bits(among)));
    }

    void fill(range among) {
        if (!many(among)) return;
        std::uint32_t* const to = entries(among);
        const unsigned shift = word_bits_ - entry_bits(among);
        std::uint32_t filled = 0;
        for (std::uint64_t i = among.begin; i < among.end; ++i)
            for (const std::uint32_t e = words_[i] >> shift; filled <= e; ++filled)
                to[filled] = static_cast<std::uint32_t>(i);
        for (; filled < std::uint32_t{1} << (word_bits_ - shift); ++filled)
            to[filled] = static_cast<std::uint32_t>(among.end);
    }

    std::span<const std::uint32_t> words_;
    unsigned word_bits_ = 0;
    scratch_table<std::uint32_t> starts_;
};

}  // namespace quern
