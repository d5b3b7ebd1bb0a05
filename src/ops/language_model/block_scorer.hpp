// SPDX-License-Identifier: Apache-2.0
// Scores the words of a text by a back-off model, a block of them side by side. A word's walk through the trie reads memory
// at places that each depend on the one before; the walks of different words do not depend on each other. So all words
// of a block take one step together, each prefetches the memory of its next step, and the latencies overlap.
//
// Of a model that is mapped and much larger than memory may be, each step would fault pages in. Then a block has many words,
// whose walks take each step in the order of their nodes, so that a level is read once a block, from its begin to its end.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "device/files/mapped_pages.hpp"
#include "ops/language_model/back_off_model.hpp"
#include "ops/language_model/compact_model.hpp"

namespace quern {

/// The same from `probability(n)` of the word's n-gram and `back_off(n)` of that before it.
template <class Probability, class Back_off>
constexpr double logarithm_of(unsigned known, unsigned known_before, const Probability& probability,
                              const Back_off& back_off) {
    double sum = -std::numeric_limits<double>::infinity();
    for (; known != 0; --known) {
        const float own = probability(known);
        if (std::isnan(own)) continue;
        sum = own;
        break;
    }
    for (unsigned n = std::max(known, 1U); n <= known_before; ++n) sum += back_off(n);
    return sum;
}

/// The logarithm, base 10, of a word's probability: that of the longest n-gram of the model that ends with it, and the back-off
/// weights of the longer ones before it. `nodes`: the n-grams that end with the word, the shortest first; `before`: those that
/// end with the word before.
template <class Model>
double logarithm_of(const Model& model, const std::uint32_t* nodes, unsigned known,
                    const std::uint32_t* before, unsigned known_before) {
    return logarithm_of(
        known, known_before, [&](unsigned n) { return model.probability(n, nodes[n - 1]); },
        [&](unsigned n) { return model.back_off(n, before[n - 1]); });
}

/// Model::score: one word, by one walk.
template <class Model>
double score_word(const Model& model, std::uint32_t word, back_off_model::history& before) {
    std::uint32_t nodes[back_off_model::max_order];  // that end with the word, the shortest first
    unsigned known = 0;
    for (std::uint32_t node = word; node != Model::no_word;) {
        nodes[known++] = node;
        if (known == model.order() || known > before.size) break;
        auto search = model.search_of(known, node, before.words[known - 1]);
        while (!model.advance(known, search, node)) {
        }
    }
    const double logarithm = logarithm_of(model, nodes, known, before.nodes, before.known);
    const unsigned size = std::min(before.size + 1, model.order() - 1);
    if (size != 0) {
        std::copy_backward(before.words, before.words + size - 1, before.words + size);
        before.words[0] = word;
    }
    before.size = size;
    before.known = std::min(known, model.order() - 1);
    std::copy_n(nodes, before.known, before.nodes);
    return logarithm;
}

/// For a Model with the functions of `steps of many walks` in compact_model.hpp. The logarithms are those of Model::score.
template <class Model>
class block_scorer {
  public:
    /// `saves_pages`: the model is mapped, and few of its pages may be resident.
    explicit block_scorer(const Model& model, bool saves_pages = false)
        : model_(model),
          saves_pages_(saves_pages),
          block_words_(saves_pages ? many_words : few_words),
          sizes_(block_words_),
          paths_(block_words_ + 1),
          values_(saves_pages ? (block_words_ + 1) * model.order() : 0),
          searches_(block_words_) {}

    /// The words after those given before. `begins[i]` is not 0 where word i has none before it. Writes the logarithm, base
    /// 10, of each word's probability after the words before it.
    void score(std::span<const std::uint32_t> words, std::span<const std::uint8_t> begins,
               std::span<double> logarithms) {
        for (std::size_t first = 0; first < words.size(); first += block_words_) {
            const std::size_t count = std::min(block_words_, words.size() - first);
            walk(words.subspan(first, count), begins.subspan(first, count));
            for (std::size_t i = 0; i < count; ++i) logarithms[first + i] = logarithm(i);
            paths_[0] = paths_[count];
            if (saves_pages_) std::copy_n(&value_of(count, 1), model_.order(), &value_of(0, 1));
            last_size_ = sizes_[count - 1];
        }
    }

  private:
    static constexpr std::size_t few_words = 64, many_words = 8192, max_order = back_off_model::max_order;

    /// The n-grams of the model that end with a word, the shortest first.
    struct path {
        unsigned known;
        std::uint32_t nodes[max_order];
    };
    /// What the model has of an n-gram, read on the way.
    struct node_values {
        float probability, back_off;
    };
    /// Of the n-gram of n words of a path.
    node_values& value_of(std::size_t path, unsigned n) { return values_[path * model_.order() + n - 1]; }

    double logarithm(std::size_t i) {
        const unsigned known = paths_[i + 1].known, before = sizes_[i] == 0 ? 0 : known_before(i);
        if (!saves_pages_) return logarithm_of(model_, paths_[i + 1].nodes, known, paths_[i].nodes, before);
        return logarithm_of(
            known, before, [&](unsigned n) { return value_of(i + 1, n).probability; },
            [&](unsigned n) { return value_of(i, n).back_off; });
    }

    /// The last n-gram of word i, of n words.
    void read_values(std::size_t i, unsigned n) {
        const std::uint32_t node = paths_[i + 1].nodes[n - 1];
        value_of(i + 1, n) = {model_.probability(n, node), n < model_.order() ? model_.back_off(n, node) : 0};
    }

    void walk(std::span<const std::uint32_t> words, std::span<const std::uint8_t> begins) {
        const std::size_t before = text_.size();
        text_.insert(text_.end(), words.begin(), words.end());
        active_.clear();
        for (std::size_t i = 0; i < words.size(); ++i) {
            const unsigned last = i == 0 ? last_size_ : sizes_[i - 1];
            sizes_[i] = begins[i] != 0 ? 0 : std::min(last + 1, model_.order() - 1);
            paths_[i + 1].known = 1;
            paths_[i + 1].nodes[0] = words[i];
            model_.prefetch_word(words[i]);
            if (saves_pages_) read_values(i, 1);
            if (sizes_[i] != 0) active_.push_back(static_cast<std::uint32_t>(i));
        }
        for (unsigned n = 1; !active_.empty(); ++n) take_step(n, before);
        if (text_.size() > max_order)
            text_.erase(text_.begin(), text_.end() - static_cast<std::ptrdiff_t>(max_order));
    }

    /// From the n-grams of n words to those of n + 1.
    void take_step(unsigned n, std::size_t before) {
        next_.clear();
        if (saves_pages_) {
            std::ranges::sort(active_, {}, [&](std::uint32_t i) { return paths_[i + 1].nodes[n - 1]; });
            for (std::size_t first = 0; first < active_.size(); first += few_words) {
                give_back_mapped_pages();
                take_step_of(std::span(active_).subspan(first, std::min(few_words, active_.size() - first)),
                             n, before);
            }
        } else {
            take_step_of(active_, n, before);
        }
        active_.swap(next_);
    }

    /// Of some words, which it reorders.
    void take_step_of(std::span<std::uint32_t> words, unsigned n, std::size_t before) {
        const auto node = [&](std::uint32_t i) { return paths_[i + 1].nodes[n - 1]; };
        for (const std::uint32_t i : words) model_.prefetch_node(n, node(i));
        for (const std::uint32_t i : words) model_.prefetch_children(n, node(i));
        for (const std::uint32_t i : words)
            searches_[i] = model_.search_of(n, node(i), text_[before + i - n]);
        while (!words.empty()) {
            std::size_t left = 0;
            for (const std::uint32_t i : words) {
                std::uint32_t found = 0;
                if (!model_.advance(n, searches_[i], found)) {
                    words[left++] = i;
                    continue;
                }
                if (found == Model::no_word) continue;
                paths_[i + 1].nodes[n] = found;
                paths_[i + 1].known = n + 1;
                if (saves_pages_) read_values(i, n + 1);
                if (n + 1 < model_.order() && n + 1 <= sizes_[i]) next_.push_back(i);
            }
            words = words.first(left);
        }
    }

    /// Of the n-grams that end with the word before word i, how many a back-off weight is needed of at most.
    unsigned known_before(std::size_t i) const { return std::min(paths_[i].known, model_.order() - 1); }

    const Model& model_;
    std::vector<std::uint32_t> text_;  ///< the words before the block that count, and its own
    unsigned last_size_ = 0;           ///< words before the last one that count
    const bool saves_pages_;
    const std::size_t block_words_;
    std::vector<unsigned> sizes_;      ///< words before each that count
    std::vector<path> paths_;          ///< the first is that of the word before the block
    std::vector<node_values> values_;  ///< of these; empty unless saves_pages_
    std::vector<typename Model::child_search> searches_;
    std::vector<std::uint32_t> active_, next_;  ///< words whose walk goes on
};

// Made next to the functions of the models, which they call in their innermost loops.
extern template class block_scorer<back_off_model>;
extern template class block_scorer<compact_model>;

}  // namespace quern
