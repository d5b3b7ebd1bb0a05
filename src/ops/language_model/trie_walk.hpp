// SPDX-License-Identifier: Apache-2.0
// One walk through the trie of a back-off model, as a kernel takes it: a thread has one word and goes down alone, since
// other threads hide the latency of its reads. (A core takes many walks side by side: block_scorer.hpp.)
#pragma once

#include <algorithm>
#include <cstdint>

#include "ops/language_model/back_off_model.hpp"
#include "ops/language_model/block_scorer.hpp"
#include "ops/language_model/compact_level.hpp"

namespace quern {

/// A compact_model as pointers.
struct compact_trie {
    const compact_layout::level* levels = nullptr;  ///< of each length
    unsigned order = 0;

    constexpr std::uint64_t words() const { return levels[0].size; }
    constexpr float probability(unsigned n, std::uint32_t node) const {
        const compact_layout::level& of = levels[n - 1];
        return of.probabilities.value(
            bits_at(of.records, node * std::uint64_t{of.record_bits} + of.word_bits, of.probabilities.bits));
    }
    constexpr float back_off(unsigned n, std::uint32_t node) const {
        const compact_layout::level& of = levels[n - 1];
        return of.back_offs.value(
            bits_at(of.records, node * std::uint64_t{of.record_bits} + of.word_bits + of.probabilities.bits,
                    of.back_offs.bits));
    }
    /// The n-gram of n + 1 words to which `word` leads from one of n words; no_word: none.
    constexpr std::uint32_t child(unsigned n, std::uint32_t node, std::uint32_t word) const {
        constexpr std::uint64_t few = 4;
        constexpr unsigned interpolations = 6;  // then by halves, should keys not be spread evenly
        auto [begin, end] = levels[n - 1].children(node);
        const compact_layout::level& next = levels[n];
        const std::uint32_t key = compact_layout::key_of(word, next.word_bits);
        std::uint64_t below = 0, above = std::uint64_t{1} << next.word_bits;  // keys lie in [below, above)
        const auto key_at = [&](std::uint64_t i) {
            return static_cast<std::uint32_t>(bits_at(next.records, i * next.record_bits, next.word_bits));
        };
        for (unsigned steps = 0; end - begin > few; ++steps) {
            const std::uint64_t size = end - begin;
            std::uint64_t past = size / 2;
            if (steps < interpolations)
                past = std::min(size - 1, static_cast<std::uint64_t>(static_cast<float>(key - below) *
                                                                     (static_cast<float>(size) /
                                                                      static_cast<float>(above - below))));
            const std::uint32_t at = key_at(begin + past);
            if (at == key) return static_cast<std::uint32_t>(begin + past);
            if (at < key) {
                begin += past + 1;
                below = std::uint64_t{at} + 1;
            } else {
                end = begin + past;
                above = at;
            }
            if (key < below || key >= above) return back_off_model::no_word;
        }
        for (; begin < end; ++begin)
            if (const std::uint32_t at = key_at(begin); at >= key)
                return at == key ? static_cast<std::uint32_t>(begin) : back_off_model::no_word;
        return back_off_model::no_word;
    }

  private:
    /// Up to 32 bits at any bit, by reads at multiples of 8 bytes.
    static constexpr std::uint64_t bits_at(const std::uint64_t* from, std::uint64_t bit, unsigned count) {
        const std::uint64_t* const at = from + bit / 64;
        const auto shift = static_cast<unsigned>(bit % 64);
        std::uint64_t word = at[0] >> shift;
        if (shift + count > 64) word |= at[1] << (64 - shift);
        return word & ((std::uint64_t{1} << count) - 1);
    }
};

/// A back_off_model as pointers.
struct plain_trie {
    struct level {
        const std::uint32_t* words;
        const float *logarithms, *back_offs;
        const std::uint32_t* children;
        std::uint64_t size;
    };
    const level* levels = nullptr;  ///< of each length
    unsigned order = 0;

    constexpr std::uint64_t words() const { return levels[0].size; }
    constexpr float probability(unsigned n, std::uint32_t node) const {
        return levels[n - 1].logarithms[node];
    }
    constexpr float back_off(unsigned n, std::uint32_t node) const { return levels[n - 1].back_offs[node]; }
    constexpr std::uint32_t child(unsigned n, std::uint32_t node, std::uint32_t word) const {
        const level &of = levels[n - 1], &next = levels[n];
        std::uint32_t begin = of.children[node], end = of.children[node + 1];
        while (begin != end) {
            const std::uint32_t middle = begin + (end - begin) / 2, at = next.words[middle];
            if (at == word) return middle;
            if (at < word)
                begin = middle + 1;
            else
                end = middle;
        }
        return back_off_model::no_word;
    }
};

/// How many words before word i count: fewer than the order, and none before a begin.
constexpr unsigned history_size(const std::uint8_t* begins, std::uint64_t i, unsigned order) {
    unsigned size = 0;
    while (size + 1 < order && i > size && begins[i - size] == 0) ++size;
    return size;
}

/// Writes the n-grams of the model that end with word i, the shortest first, `stride` apart; returns their number, 0 for a
/// word that the model does not know.
template <class Trie>
constexpr unsigned walk(const Trie& trie, const std::uint32_t* words, std::uint64_t i, unsigned history,
                        std::uint32_t* nodes, unsigned stride) {
    std::uint32_t node = words[i];
    if (node >= trie.words()) return 0;
    unsigned known = 0;
    while (true) {
        nodes[known++ * stride] = node;
        if (known == trie.order || known > history) return known;
        node = trie.child(known, node, words[i - known]);
        if (node == back_off_model::no_word) return known;
    }
}

/// The n-grams that a walk found, for logarithm_of.
template <class Trie>
struct probabilities_of {
    const Trie& trie;
    const std::uint32_t* nodes;
    unsigned stride;
    constexpr float operator()(unsigned n) const { return trie.probability(n, nodes[(n - 1) * stride]); }
};
template <class Trie>
struct back_offs_of {
    const Trie& trie;
    const std::uint32_t* nodes;
    unsigned stride;
    constexpr float operator()(unsigned n) const { return trie.back_off(n, nodes[(n - 1) * stride]); }
};

}  // namespace quern
