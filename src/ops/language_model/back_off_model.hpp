// SPDX-License-Identifier: Apache-2.0
// A back-off language model: the probability of a word after the words before it (Katz 1987).
//
//     log p(w | h) = log p(h w)                    if the model has the n-gram h w
//                  = back-off(h) + log p(w | h')   otherwise; h' is h without its first word, and an unknown h has 0
//
// The n-grams are a trie of reversed n-grams: the path of one is its last word, the word before it, and so on. So one
// walk from the root finds the longest known n-gram that ends with a word, and on its way every back-off weight that
// the next word may need.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace quern {

/// The n-grams of one length, in any order.
struct ngram_list {
    unsigned n = 1;
    std::vector<std::uint32_t> words;  ///< n for each n-gram, the last word first
    std::vector<float> logarithms;     ///< of the probabilities, base 10
    std::vector<float> back_offs;      ///< base 10; empty: all 0
    std::uint64_t size() const { return logarithms.size(); }
};

class back_off_model {
  public:
    static constexpr unsigned max_order = 32;

    /// A word that is in no n-gram.
    static constexpr std::uint32_t no_word = UINT32_MAX;

    back_off_model() = default;
    /// `lists[i]` has n = i + 1; its first has every word below `words` once, in order. Consumes the lists. Returns in
    /// `repeated` an n-gram (n, position in its list) that occurs twice, if there is one; the model is not usable then.
    struct repeated_ngram {
        unsigned n = 0;  ///< 0: none
        std::uint64_t first = 0, second = 0;
    };
    back_off_model(std::vector<ngram_list> lists, repeated_ngram& repeated);

    unsigned order() const { return static_cast<unsigned>(levels_.size()); }
    std::uint64_t size(unsigned n) const { return levels_[n - 1].logarithms.size(); }

    /// The words before the next one, as far as they matter.
    struct history {         // NOLINT(cppcoreguidelines-pro-type-member-init): written before it is read
        unsigned size = 0;   ///< words, the nearest first; less than the order
        unsigned known = 0;  ///< of these, how many make an n-gram of the model
        std::uint32_t words[max_order];
        std::uint32_t nodes[max_order];  ///< of these n-grams, the shortest first
    };
    /// The logarithm, base 10, of p(word | before); `before` becomes the history of the next word. Cost: one search
    /// among the children of at most order() nodes.
    double score(std::uint32_t word, history& before) const;
    /// The history that `word` alone makes.
    history after(std::uint32_t word) const;

    // The steps of many walks (block_scorer.hpp), as those of compact_model.
    void prefetch_word(std::uint32_t word) const {
        const level& of = levels_[0];
        __builtin_prefetch(&of.logarithms[word]);
        if (!of.children.empty()) __builtin_prefetch(&of.children[word]);
    }
    void prefetch_node(unsigned n, std::uint32_t node) const {
        if (n != 1) __builtin_prefetch(&levels_[n - 1].children[node]);
    }
    void prefetch_children(unsigned, std::uint32_t) const {}
    struct child_search {
        std::uint32_t begin, end;  ///< where the child may be
        std::uint32_t word;
    };
    child_search search_of(unsigned n, std::uint32_t node, std::uint32_t word) const;
    bool advance(unsigned n, child_search& search, std::uint32_t& found) const;
    float probability(unsigned n, std::uint32_t node) const { return levels_[n - 1].logarithms[node]; }
    float back_off(unsigned n, std::uint32_t node) const { return levels_[n - 1].back_offs[node]; }

    /// The n-grams of one length as they lie in memory: in the order of the trie.
    struct level_view {
        std::span<const std::uint32_t> words;  ///< the first of each; empty for n = 1
        std::span<const float>
            logarithms;  ///< not a number: no n-gram of the model, only the end of longer ones
        std::span<const float> back_offs;  ///< empty for the last length, as the next
        std::span<const std::uint32_t>
            children;  ///< where those of each begin in the next length, and the end
    };
    level_view level_of(unsigned n) const {
        const level& of = levels_[n - 1];
        return {of.words, of.logarithms, of.back_offs, of.children};
    }

    std::uint64_t memory_bytes() const;
    /// The most that making a model of these numbers of n-grams takes.
    static std::uint64_t bytes_for(std::span<const std::uint64_t> sizes);

  private:
    struct level {
        std::vector<std::uint32_t> words;  ///< the first of the n-gram; empty for n = 1, where it is the node
        std::vector<float> logarithms;  ///< not a number: no n-gram of the model, only the end of longer ones
        std::vector<float> back_offs;   ///< empty for the last level
        std::vector<std::uint32_t>
            children;  ///< where they begin in the next level, and the end; empty for the last
    };

    std::vector<level> levels_;
};

}  // namespace quern
