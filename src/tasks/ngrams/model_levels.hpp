// SPDX-License-Identifier: Apache-2.0
// The n-grams of a model, length by length, as the levels of a trie: sorted, with a node's children contiguous. The node
// of an n-gram without its first word is a child of the corresponding node of its parent, and is found there by its last
// word.
//
// Nearly all time would be spent waiting for memory: the n-gram's position in the text is a random access, and so is
// its shorter node. So both are prefetched, and an n-gram's words are read once.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <vector>

#include "device/cpu/parallel.hpp"
#include "device/paced_checks.hpp"
#include "tasks/ngrams/child_words.hpp"
#include "tasks/ngrams/collection_counts.hpp"
#include "tasks/ngrams/ngram_corpus.hpp"
#include "tasks/ngrams/scratch_table.hpp"

namespace quern {

struct model_level {
    static constexpr double excluded = -1;  ///< the probability of an n-gram that is pruned

    std::uint64_t size = 0;
    scratch_table<std::uint64_t> positions;  ///< of all levels except the last
    scratch_table<std::uint64_t>
        histories;  ///< of each node's n-gram: h of the words before its last; empty: that of all children
    scratch_table<std::uint64_t> children;  ///< of each node, where they begin in the next level, and the end
    scratch_table<std::uint32_t> last_words;
    scratch_table<std::uint32_t> suffixes;  ///< nodes of the preceding level
    scratch_table<std::uint32_t> lefts;  ///< how many different words occur before the n-gram; for Kneser-Ney
    scratch_table<double> probabilities;  ///< initially counts, which are exact
    scratch_table<double> back_offs;
};

class model_levels {
  public:
    /// `last_suffixes`: also the n-grams of the last length have `suffixes`.
    model_levels(const ngram_corpus& corpus, collection_counts& counts, unsigned order, bool last_suffixes,
                 scratch_folder& scratch, table_share& share, cpu_place& place)
        : corpus_(corpus),
          counts_(counts),
          order_(order),
          last_suffixes_(last_suffixes),
          scratch_(scratch),
          share_(share),
          place_(place) {}

    /// How many of a table's rows are prefetched.
    static constexpr std::uint64_t ahead = 16;

    template <class T>
    scratch_table<T> table(std::uint64_t size) {
        return scratch_table<T>(share_, scratch_, "model_" + std::to_string(tables_++), size);
    }

    /// The level of the empty n-gram.
    model_level root();
    /// The n-grams of the next length, which become children of `parents`, with `suffixes` not yet filled. Consumes the
    /// counts of this length.
    model_level take(unsigned n, model_level& parents);

    /// For every child of `parents` (of at least one word) the node of its n-gram without the first word, which is one of
    /// `parents`, too: calls made = of_parent(parent, first child, past the last), then for each child fetch(suffix), and
    /// soon after take(child, suffix, made). `before` is the level before `parents`. Parents in parallel.
    template <class Of_parent, class Fetch, class Take>
    void for_each_suffix(const model_level& before, const model_level& parents, const model_level& nodes,
                         const Of_parent& of_parent, const Fetch& fetch, const Take& take);

    /// work(node) for each of these, once. If the level is mapped, blocks of them are in the order of their suffixes: what
    /// follows a suffix lies in that order, too, and so a page of it is read once for each block.
    template <class Work>
    static void for_each_by_suffix(const model_level& nodes, std::uint64_t begin, std::uint64_t end,
                                   const Work& work);

  private:
    std::uint64_t take_piece(unsigned n, const model_level& parents, std::uint64_t adopted,
                             std::span<const counted_ngram> part, model_level& of, std::uint64_t at) const;
    std::uint64_t parent_of(unsigned n, const model_level& parents, std::uint64_t position) const;

    const ngram_corpus& corpus_;
    collection_counts& counts_;
    unsigned order_;
    bool last_suffixes_;
    scratch_folder& scratch_;
    table_share& share_;
    cpu_place& place_;
    unsigned tables_ = 0;
};

template <class Work>
void model_levels::for_each_by_suffix(const model_level& nodes, std::uint64_t begin, std::uint64_t end,
                                      const Work& work) {
    if (nodes.suffixes.size() == 0 ||
        nodes.probabilities.spilled_bytes() + nodes.last_words.spilled_bytes() == 0) {
        for (std::uint64_t q = begin; q < end; ++q) work(q);
        return;
    }
    constexpr std::uint64_t block = std::uint64_t{1} << 15;
    std::vector<std::uint64_t> order;  // suffix, and place in the block
    for (std::uint64_t size = 0; begin < end; begin += size) {
        size = std::min(block, end - begin);
        order.resize(size);
        for (std::uint64_t i = 0; i < size; ++i)
            order[i] = std::uint64_t{nodes.suffixes[begin + i]} << 32 | i;
        std::ranges::sort(order);
        for (const std::uint64_t of : order) work(begin + static_cast<std::uint32_t>(of));
    }
}

template <class Of_parent, class Fetch, class Take>
void model_levels::for_each_suffix(const model_level& before, const model_level& parents,
                                   const model_level& nodes, const Of_parent& of_parent, const Fetch& fetch,
                                   const Take& take) {
    const child_words shorter(place_, before.children.span(), parents.last_words.span(), corpus_.vocabulary,
                              table<std::uint32_t>(parents.size / child_words::words_an_entry + 1));
    const bool from_root = parents.suffixes.size() == 0;
    using made = decltype(of_parent(std::uint64_t{}, std::uint64_t{}, std::uint64_t{}));
    struct waiting_node {
        std::uint64_t node;
        child_words::range among;
        made of;
    };
    const auto of_parents = [&](std::uint64_t begin, std::uint64_t end) {
        std::array<waiting_node, 2 * ahead> waiting = {};
        std::size_t count = 0;
        paced_checks checks(place_.ctx(), scattered_values);
        const auto take_waiting = [&] {
            checks.after(count);
            const std::span all(waiting.data(), count);
            for (waiting_node& w : all) w.among = shorter.narrow(w.among, nodes.last_words[w.node]);
            for (waiting_node& w : all) {
                const std::uint32_t word = nodes.last_words[w.node];
                w.among.begin = shorter.find(w.among, word);
                if (w.among.begin == w.among.end || parents.last_words[w.among.begin] != word)
                    throw std::logic_error("an n-gram without its end");
                fetch(w.among.begin);
            }
            for (const waiting_node& w : all) take(w.node, w.among.begin, w.of);
            count = 0;
        };
        for_each_by_suffix(parents, begin, end, [&](std::uint64_t q) {
            if (!from_root && q + ahead < end)
                __builtin_prefetch(&before.children[parents.suffixes[q + ahead]]);
            const std::uint64_t first = parents.children[q], last = parents.children[q + 1];
            const made of = of_parent(q, first, last);
            const std::uint64_t from = from_root ? 0 : parents.suffixes[q];
            const child_words::range among{before.children[from], before.children[from + 1]};
            for (std::uint64_t i = first; i < last; ++i) {
                shorter.fetch_entry(among, nodes.last_words[i]);
                waiting[count++] = {i, among, of};
                if (count == waiting.size()) take_waiting();
            }
        });
        take_waiting();
    };
    const std::size_t pieces = pieces_for(place_, parents.size, 1 << 12, 16);
    for_each_piece(place_, pieces, [&](std::size_t p) {
        place_.ctx().check_stop();
        const auto [begin, end] = piece_of(parents.size, pieces, p);
        of_parents(begin, end);
    });
}

}  // namespace quern
