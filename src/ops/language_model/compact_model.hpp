// SPDX-License-Identifier: Apache-2.0
// A back-off model (back_off_model.hpp) in few bits, read in place from one block of bytes. The trie is the same; each
// n-gram of two words or more is a record of bits: the key of the word that leads to it from its parent, the code of its
// probability, the code of its back-off weight. A code is a position in the table of the length's distinct values, so
// that every value is exact; where the values differ too much for a table, it is the value's own bits. Quantised values
// have fewer codes.
//
// Where the children of a node begin is an increasing sequence, so it is stored as bits: for each node a 0 for each child,
// then a 1 (Elias 1974; Fano 1971). The position of every 64th 1 is known; so is that of every 1 where 64 of them are far
// apart, that is, where nodes have many children.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "ops/language_model/back_off_model.hpp"
#include "ops/language_model/compact_layout.hpp"
#include "ops/language_model/compact_level.hpp"

namespace quern {

class compact_model {
  public:
    using history = back_off_model::history;
    static constexpr std::uint32_t no_word = back_off_model::no_word;

    /// The bytes of a model, at a multiple of 8. `bits`: of a quantised value, 1 to 16; 0: exact. Quantised values are the
    /// means of equally many neighbouring ones, and a back-off weight of 1 stays.
    static std::vector<char> encode(const back_off_model& model, unsigned bits);

    compact_model() = default;
    /// Reads encoded bytes in place; they must outlive it. Throws invalid_value if they are not whole.
    explicit compact_model(std::string_view bytes);

    unsigned order() const { return static_cast<unsigned>(levels_.size()); }
    std::uint64_t size(unsigned n) const { return levels_[n - 1].size; }
    unsigned quantised_bits() const { return quantised_bits_; }
    std::uint64_t bytes() const { return bytes_; }  ///< that it was made of
    /// The parts of each length, the shortest first; they point into the bytes.
    std::span<const compact_layout::level> levels() const { return levels_; }

    /// As those of back_off_model.
    double score(std::uint32_t word, history& before) const;
    history after(std::uint32_t word) const;

    // The steps of many walks (block_scorer.hpp). A walk goes from an n-gram of n words, a node, to its child by the word
    // before it.

    /// Prefetches what the first step of a walk reads.
    void prefetch_word(std::uint32_t word) const {
        const level& of = levels_[0];
        prefetch_record(of, word);
        if (of.first_children != nullptr) __builtin_prefetch(&of.first_children[word]);
    }
    /// Prefetches what prefetch_children reads; prefetch_children prefetches what search_of reads.
    void prefetch_node(unsigned n, std::uint32_t node) const {
        if (n != 1) __builtin_prefetch(&levels_[n - 1].child_samples[node / compact_layout::sample_nodes]);
    }
    void prefetch_children(unsigned n, std::uint32_t node) const;
    /// A search for the child that a word leads to.
    struct child_search {
        std::uint64_t begin, end;    ///< where it may be
        std::uint64_t below, above;  ///< the keys there lie in [below, above)
        std::uint64_t middle;        ///< the next to look at
        std::uint32_t key, steps;
    };
    child_search search_of(unsigned n, std::uint32_t node, std::uint32_t word) const;
    /// Takes a step of it. True at its end: `found` is the child, or no_word.
    bool advance(unsigned n, child_search& search, std::uint32_t& found) const;
    float probability(unsigned n, std::uint32_t node) const;  ///< not a number: none
    float back_off(unsigned n, std::uint32_t node) const;

  private:
    using level = compact_layout::level;
    bool children_fit(unsigned n) const;
    void aim(const level& next, child_search& search) const;
    static void prefetch_record(const level& of, std::uint64_t i) {
        __builtin_prefetch(reinterpret_cast<const char*>(of.records) + i * of.record_bits / 8);
    }

    std::vector<level> levels_;
    unsigned quantised_bits_ = 0;
    std::uint64_t bytes_ = 0;
};

}  // namespace quern
