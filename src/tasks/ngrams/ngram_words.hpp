// SPDX-License-Identifier: Apache-2.0
// The words of many n-grams, by their positions in the text. N-grams next to each other in an order are anywhere in the
// text: of a mapped one, each would fault in the pages around it, and the threads would wait for one of them to release all
// again. So these words are read first, in the order of the text.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "device/cpu/parallel.hpp"
#include "device/paced_checks.hpp"
#include "primitives/sort/sort.hpp"
#include "primitives/sort/sort_memory.hpp"
#include "tasks/ngrams/ngram_corpus.hpp"

namespace quern {

/// Of one block of n-grams after another.
class ngram_words {
  public:
    /// How many n-grams one thread takes at once.
    static constexpr std::size_t block_of_thread = std::size_t{1} << 15;
    /// How many all threads take at once, within that much memory if it has room for a few: with more of them, fewer words of the
    /// text lie between two.
    static std::size_t block_within(std::uint64_t bytes, unsigned n) {
        const std::uint64_t each =
            2 * sizeof(std::uint64_t) + n * sizeof(std::uint32_t);  // a position sorted, and its words
        return std::clamp<std::size_t>(bytes / each, min_block, max_block);
    }

    /// `n`: words of each. `corpus` and `ctx` must outlive it.
    ngram_words(const ngram_corpus& corpus, unsigned n, const context& ctx)
        : corpus_(corpus), n_(n), ctx_(ctx), is_copied_(corpus.words.spilled_bytes() != 0) {}

    bool is_copied() const { return is_copied_; }

    /// Those at position_of(0), ... position_of(count - 1), in place of the former ones. `count`: at most what block_within() may give.
    template <class Position_of>
    void take(std::size_t count, const Position_of& position_of) {
        positions_.resize(count);
        if (!is_copied_) {
            for (std::size_t i = 0; i < count; ++i) positions_[i] = position_of(i);
            return;
        }
        for (std::size_t i = 0; i < count; ++i) positions_[i] = position_of(i) << place_bits | i;
        std::ranges::sort(positions_);
        words_.resize(count * n_);
        copy(0, count);
    }
    /// The same by all threads.
    template <class Position_of>
    void take(cpu_place& place, std::size_t count, const Position_of& position_of) {
        if (!is_copied_) return take(count, position_of);
        positions_.resize(count);
        words_.resize(count * n_);
        const std::size_t pieces = pieces_for(place, count, 1 << 12);
        for_each_piece(place, pieces, [&](std::size_t p) {
            const auto [begin, end] = piece_of(count, pieces, p);
            for (std::size_t i = begin; i < end; ++i) positions_[i] = position_of(i) << place_bits | i;
        });
        if (place.memory().limit() < min_sort_memory)
            std::ranges::sort(positions_);
        else
            primitives::sort_keys(
                place, std::span(positions_),
                {.key_bits = place_bits + static_cast<unsigned>(std::bit_width(corpus_.words.size()))});
        for_each_piece(place, pieces, [&](std::size_t p) {
            const auto [begin, end] = piece_of(count, pieces, p);
            copy(begin, end);
        });
    }

    /// Those of n-gram i.
    const std::uint32_t* operator[](std::size_t i) const {
        return is_copied_ ? words_.data() + i * n_ : corpus_.words.span().data() + positions_[i];
    }

  private:
    static constexpr std::size_t min_block = std::size_t{1} << 18, max_block = std::size_t{1} << 20;
    static constexpr unsigned place_bits = std::bit_width(max_block);
    static constexpr std::uint64_t min_sort_memory = std::uint64_t{32} << 20;

    /// Positions close to each other are read together: to copy a page takes no longer than a call.
    void copy(std::size_t begin, std::size_t end) {
        constexpr std::uint64_t places = (std::uint64_t{1} << place_bits) - 1, max_gap = 1024,
                                max_read = 1 << 14;
        const auto position = [&](std::size_t i) { return positions_[i] >> place_bits; };
        std::vector<std::uint32_t> read(max_read + n_);
        paced_checks checks(ctx_, neighbouring_values);
        while (begin < end) {
            const std::uint64_t first = position(begin);
            std::size_t next = begin + 1;
            while (next < end && position(next) - position(next - 1) <= max_gap &&
                   position(next) - first <= max_read)
                ++next;
            const std::uint64_t count = position(next - 1) - first + n_;
            checks.after(count);
            corpus_.words.read(first, std::span(read).first(count));
            for (; begin < next; ++begin)
                std::copy_n(read.data() + (position(begin) - first), n_,
                            words_.data() + (positions_[begin] & places) * n_);
        }
    }

    const ngram_corpus& corpus_;
    unsigned n_;
    const context& ctx_;
    bool is_copied_;
    std::vector<std::uint64_t>
        positions_;  ///< if the words are copied: sorted, each with its place in the block
    std::vector<std::uint32_t> words_;
};

/// With as many threads as can sort words in a part of the memory.
inline context with_threads_that_sort(const context& ctx) {
    context fitting = ctx;
    fitting.threads = static_cast<unsigned>(std::clamp<std::uint64_t>(
        ctx.memory_limit() / 16 / primitives::sort_bytes_of_thread, 1, ctx.thread_count()));
    return fitting;
}

/// Calls work(n-gram, its words) for each of these, which have a position.
template <class Ngram, class Work>
void for_each_with_words(const ngram_corpus& corpus, std::span<const Ngram> ngrams, unsigned n,
                         const context& ctx, const Work& work) {
    ngram_words words(corpus, n, ctx);
    while (!ngrams.empty()) {
        const std::size_t count = std::min(ngrams.size(), ngram_words::block_of_thread);
        words.take(count, [&](std::size_t i) { return ngrams[i].position; });
        for (std::size_t i = 0; i < count; ++i) work(ngrams[i], words[i]);
        ngrams = ngrams.subspan(count);
    }
}

/// The words of nodes, which are asked for in rising order; one thread.
class node_words {
  public:
    /// `positions`: of all nodes. `at_once`: at most ngram_words::block_of_thread.
    node_words(const ngram_corpus& corpus, std::span<const std::uint64_t> positions, unsigned n,
               const context& ctx, std::size_t at_once)
        : positions_(positions), at_once_(at_once), words_(corpus, n, ctx) {}

    const std::uint32_t* of(std::uint64_t node) {
        if (node >= end_) {
            begin_ = node;
            end_ = std::min<std::uint64_t>(positions_.size(), node + at_once_);
            words_.take(end_ - begin_, [&](std::size_t i) { return positions_[begin_ + i]; });
        }
        return words_[node - begin_];
    }

  private:
    std::span<const std::uint64_t> positions_;
    std::size_t at_once_;
    std::uint64_t begin_ = 0, end_ = 0;
    ngram_words words_;
};

}  // namespace quern
