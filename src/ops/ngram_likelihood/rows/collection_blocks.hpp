// SPDX-License-Identifier: Apache-2.0
// From pieces of sorted n-grams to blocks in order, and the n-grams of a collection from such a piece: a count is the length
// of a range. Documents are examined only where a range begins, for n-grams that end there.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "device/array.hpp"
#include "device/budget_share.hpp"
#include "device/cpu/parallel.hpp"
#include "device/paced_checks.hpp"
#include "ops/ngram_likelihood/rows/ordered_rows.hpp"
#include "ops/ngram_likelihood/rows/row_column.hpp"
#include "quern/ops/ngram_likelihood.hpp"

namespace quern::ngram_detail {

/// What rows that wait to be output may take, which are not in arrays of the place.
inline std::uint64_t memory_of_rows(const memory_budget& memory) {
    return std::min(memory.left(), memory.limit() / 8);
}

/// make_maker() gives a thread its function: make(p, rows, max_held, relieve) adds the rows of piece p, and calls `relieve`
/// after about every `max_held`. The rows of the pieces are passed to `sink` in order. `threads`: how many work at once at
/// most.
template <class Block, class MakeMaker>
std::vector<ngram_totals> blocks_of_pieces(cpu_place& place, unsigned threads, std::size_t pieces,
                                           unsigned first_n, const ngram_options& options,
                                           const typename ordered_blocks<Block>::row_sink& sink,
                                           const MakeMaker& make_maker) {
    const budget_share rows_wait(place.memory(), memory_of_rows(place.memory()) / 64 * 63, "rows of n-grams");
    if (place.memory().left() != 0)  // kept blocks beyond what is left now are released
        cpu_array<char>(place, 1, "rows of n-grams");
    // Of this, a seventh waits and four sevenths belong to the pieces being worked on, which keep memory for twice their rows; the
    // rest is kept for the next pieces. A thread checks for its turn more often than it fills its share.
    const std::size_t max_waiting = std::min<std::size_t>(
        std::size_t{1} << 21, place.memory().limit() / 8 / (7 * Block::row_bytes(options.history_counts)));
    const std::size_t bulk_of_piece = std::max<std::size_t>(1, max_waiting / threads);
    const std::size_t max_held = std::min<std::size_t>(std::size_t{1} << 16, bulk_of_piece);
    ordered_blocks<Block> out(first_n, options, sink, max_waiting, 2 * (bulk_of_piece + max_held));
    std::atomic<std::size_t> next{0};
    for_each_piece(place, std::min<std::size_t>(pieces, threads), [&](std::size_t) {
        try {
            auto make = make_maker();
            // Pieces are taken in order, so the one whose turn it is never waits.
            for (std::size_t p = next++; p < pieces; p = next++) {
                place.ctx().check_stop();
                typename ordered_blocks<Block>::piece rows = out.capacity();
                make(p, rows, max_held, [&] {
                    place.ctx().check_stop();  // the piece of a frequent word is long
                    out.relieve(p, rows, bulk_of_piece);
                });
                if (!out.complete(p, std::move(rows))) break;
            }
        } catch (...) {
            out.fail();
            throw;
        }
    });
    return out.totals();
}

/// Waiting n-grams of one n, in columns.
class collection_block {
  public:
    using rows_type = collection_ngrams;

    collection_block(unsigned n, bool history_counts) : n_(n), with_history_(history_counts) {}

    static constexpr std::size_t row_bytes(bool history_counts) { return history_counts ? 24 : 16; }

    void add(std::uint64_t position, std::uint64_t count, std::uint64_t history_count) {
        if (size_ == positions_.size()) grow();
        positions_.data()[size_] = position;
        counts_.data()[size_] = count;
        if (with_history_) history_counts_.data()[size_] = history_count;
        ++size_;
    }
    std::size_t size() const { return size_; }
    void clear() { size_ = 0; }
    collection_ngrams rows() const {
        return {n_,
                {positions_.data(), size_},
                {counts_.data(), size_},
                {history_counts_.data(), with_history_ ? size_ : 0}};
    }

  private:
    void grow() {
        const std::size_t capacity = std::max(first_rows, 2 * size_);
        if (with_history_) history_counts_.grow(capacity);
        counts_.grow(capacity);
        positions_.grow(capacity);  // the checked one last: after a failure all grow again
    }

    unsigned n_;
    bool with_history_;
    std::size_t size_ = 0;
    row_column<std::uint64_t> positions_, counts_, history_counts_;
};

/// `Sorted` has for each i in the order of n-grams: position(i), words_left(i) up to the end of its document, and shared()[i],
/// as in sorted_ngrams (rows_from_order.hpp).
template <class Sorted>
class collection_maker {
  public:
    collection_maker(const context& ctx, const Sorted& sorted, const ngram_options& options)
        : checks_(ctx, neighbouring_values),
          sorted_(sorted),
          order_(options.order),
          first_n_(options.only ? options.order : 1),
          min_count_(options.min_count) {}

    /// N-grams go to `out` from now on.
    void begin_piece(piece_blocks<collection_block>& out, std::size_t max_held,
                     const std::function<void()>& relieve) {
        out_ = &out;
        relieve_ = &relieve;
        max_held_ = max_held;
    }

    /// The n-grams of the range, which has all those with its first words. `words`: of the collection.
    void add_words(std::size_t begin, std::size_t end, std::uint64_t words) { cut(1, begin, end, words); }

    /// The word at i alone.
    void add_word(std::size_t i, std::uint64_t count, std::uint64_t words) {
        if (count >= min_count_) give(1, i, count, words);
    }
    /// The longer n-grams of the range, which all begin with one word and have all with their second words. `count`: of the
    /// word; `followed`: by another one.
    void add_after_word(std::size_t begin, std::size_t end, std::uint64_t count, std::uint64_t followed) {
        if (count >= min_count_ && order_ > 1) cut(2, begin, end, followed);
    }

  private:
    /// Cuts into the ranges of n; `followed`: how often another word follows the words before the last.
    void cut(unsigned n, std::size_t begin, std::size_t end, std::uint64_t followed) {
        while (begin < end) {
            const std::size_t next = end_of_range(n, begin, end);
            range_of(n, begin, next, followed);
            begin = next;
            if (made_ < max_held_) continue;
            (*relieve_)();
            made_ = 0;
        }
    }

    /// That of the n-gram at `begin`, at most `end`.
    std::size_t end_of_range(unsigned n, std::size_t begin, std::size_t end) {
        const std::uint8_t* const shared = sorted_.shared();
        for (std::size_t next = begin + 1;;) {
            const std::size_t from = next, stop = std::min<std::size_t>(end, next + neighbouring_values);
            while (next < stop && shared[next] >= n) ++next;
            checks_.after(next - from);
            if (next < stop || next == end) return next;
        }
    }

    void range_of(unsigned n, std::size_t begin, std::size_t end, std::uint64_t followed) {
        if (end - begin < min_count_) return;
        give(n, begin, end - begin, followed);
        if (n == order_) return;
        if (end - begin == 1) {  // and so do the longer ones that it begins
            const std::uint64_t longest = std::min<std::uint64_t>(order_, sorted_.words_left(begin));
            while (n++ < longest) give(n, begin, 1, 1);
            return;
        }
        // The end of a document sorts before every word.
        while (begin < end && sorted_.words_left(begin) == n) ++begin;
        cut(n + 1, begin, end, end - begin);
    }

    void give(unsigned n, std::size_t i, std::uint64_t count, std::uint64_t followed) {
        if (n < first_n_) return;
        out_->blocks[n - first_n_].add(sorted_.position(i), count, followed);
        ++out_->distinct[n - first_n_];
        ++made_;
    }

    paced_checks checks_;
    Sorted sorted_;
    unsigned order_, first_n_;
    std::uint64_t min_count_;
    piece_blocks<collection_block>* out_ = nullptr;
    const std::function<void()>* relieve_ = nullptr;
    std::size_t max_held_ = 0, made_ = 0;  ///< n-grams since the last output
};

}  // namespace quern::ngram_detail
