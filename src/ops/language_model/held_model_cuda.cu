// SPDX-License-Identifier: Apache-2.0
// The walks of block_scorer.hpp, one thread per word. A word's logarithm needs its own n-grams and those of the word before
// it, which the thread before has found.
#include <algorithm>
#include <utility>

#include "device/cuda/check.cuh"
#include "ops/language_model/held_model.hpp"
#include "primitives/argument_checks.hpp"

namespace quern {
namespace {

constexpr unsigned block_threads = 128, block_words = block_threads - 1;

/// One thread per word, except that thread 0 of a block walks the word before the block's, for the first of them. Any grid
/// that covers `count` with block_words a block. Shared: the trie's levels, then (order + 1) numbers a thread.
template <class Trie>
__global__ void score_words_kernel(Trie trie, const std::uint32_t* words, const std::uint8_t* begins,
                                   std::uint64_t count, double* logarithms) {
    extern __shared__ std::uint64_t shared[];
    using level = std::remove_cvref_t<decltype(trie.levels[0])>;
    static_assert(sizeof(level) % sizeof(std::uint64_t) == 0);
    const unsigned level_words = trie.order * static_cast<unsigned>(sizeof(level) / sizeof(std::uint64_t));
    for (unsigned at = threadIdx.x; at < level_words; at += block_threads)
        shared[at] = reinterpret_cast<const std::uint64_t*>(trie.levels)[at];
    trie.levels = reinterpret_cast<const level*>(shared);
    auto* const known = reinterpret_cast<std::uint32_t*>(shared + level_words);
    std::uint32_t* const nodes = known + block_threads + threadIdx.x;
    __syncthreads();

    const std::uint64_t next =
        std::uint64_t{blockIdx.x} * block_words + threadIdx.x;  // one more than the word
    const bool has_word = next != 0 && next <= count;
    const unsigned history = has_word ? history_size(begins, next - 1, trie.order) : 0;
    const unsigned own = has_word ? walk(trie, words, next - 1, history, nodes, block_threads) : 0;
    known[threadIdx.x] = own;
    __syncthreads();
    if (!has_word || threadIdx.x == 0) return;
    const unsigned before = history == 0 ? 0 : min(known[threadIdx.x - 1], trie.order - 1);
    logarithms[next - 1] = logarithm_of(own, before, probabilities_of<Trie>{trie, nodes, block_threads},
                                        back_offs_of<Trie>{trie, nodes - 1, block_threads});
}

}  // namespace

held_model<cuda_place>::held_model(cuda_place& place, cpu_place& /*host*/, any_ngrams model) : place_(place) {
    std::visit([&](const auto* of) { hold(*of); }, model);
}

template <class T>
const T* held_model<cuda_place>::copied(const T* from, std::uint64_t size) {
    if (size == 0) return nullptr;
    const std::uint64_t words = (size * sizeof(T) + sizeof(std::uint64_t) - 1) / sizeof(std::uint64_t);
    auto& part = parts_.emplace_back(place_, words, "a language model");
    place_.copy_in(part.data(), from, size * sizeof(T));
    return reinterpret_cast<const T*>(part.data());
}

void held_model<cuda_place>::hold(const compact_model& model) {
    std::vector<compact_layout::level> levels(model.levels().begin(), model.levels().end());
    for (std::size_t i = 0; i < levels.size(); ++i) {
        compact_layout::level& of = levels[i];
        of.probabilities.table = copied(of.probabilities.table, of.probabilities.values);
        of.back_offs.table = copied(of.back_offs.table, of.back_offs.values);
        of.records = copied(of.records, compact_layout::words_of_bits(of.size * of.record_bits));
        if (i + 1 == levels.size()) continue;
        if (of.first_children != nullptr) {
            of.first_children = copied(of.first_children, of.size + 1);
        } else {
            of.child_bits =
                copied(of.child_bits, compact_layout::words_of_bits(of.size + levels[i + 1].size));
            of.child_samples = copied(of.child_samples, of.samples);
            of.far_children = copied(of.far_children, of.far);
        }
    }
    trie_ = compact_trie{copied(levels.data(), levels.size()), model.order()};
}

void held_model<cuda_place>::hold(const back_off_model& model) {
    std::vector<plain_trie::level> levels;
    for (unsigned n = 1; n <= model.order(); ++n) {
        const back_off_model::level_view of = model.level_of(n);
        levels.push_back({copied(of.words.data(), of.words.size()),
                          copied(of.logarithms.data(), of.logarithms.size()),
                          copied(of.back_offs.data(), of.back_offs.size()),
                          copied(of.children.data(), of.children.size()), model.size(n)});
    }
    trie_ = plain_trie{copied(levels.data(), levels.size()), model.order()};
}

void held_model<cuda_place>::score(device_span<const std::uint32_t> words,
                                   device_span<const std::uint8_t> begins, device_span<double> logarithms) {
    primitives::check_same_size("score", "words", words.size(), "begins", begins.size());
    primitives::check_same_size("score", "words", words.size(), "logarithms", logarithms.size());
    std::visit(
        [&]<class Trie>(const Trie& trie) {
            using level = std::remove_cvref_t<decltype(trie.levels[0])>;
            const std::size_t bytes =
                trie.order * sizeof(level) + (trie.order + 1) * block_threads * sizeof(std::uint32_t);
            QUERN_LAUNCH(
                place_,
                (cuda::launch_shape{cuda::blocks_for(words.size(), block_words), block_threads, bytes}),
                score_words_kernel<Trie>, trie, words.data(), begins.data(), words.size(), logarithms.data());
        },
        trie_);
}

void held_model<cuda_place>::score_host(std::span<const std::uint32_t> words,
                                        std::span<const std::uint8_t> begins, std::span<double> logarithms) {
    if (words_.size() < words.size()) {
        // All or none, so that a caller who comes after an error finds three arrays of one size.
        auto more_words = make_array<std::uint32_t>(place_, words.size(), "words to score");
        auto more_begins = make_array<std::uint8_t>(place_, words.size(), "words to score");
        auto more_logarithms = make_array<double>(place_, words.size(), "scores of words");
        words_ = std::move(more_words);
        begins_ = std::move(more_begins);
        logarithms_ = std::move(more_logarithms);
    }
    const auto to = words_.span().first(words.size());
    const auto marked = begins_.span().first(begins.size());
    const auto made = logarithms_.span().first(logarithms.size());
    copy_in<std::uint32_t>(place_, words, to);
    copy_in<std::uint8_t>(place_, begins, marked);
    score(to, marked, made);
    copy_out<double>(place_, made, logarithms);
}

}  // namespace quern
