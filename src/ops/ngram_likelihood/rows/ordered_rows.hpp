// SPDX-License-Identifier: Apache-2.0
// Rows made by several threads, output in one order. The sorted n-grams are cut into pieces; one thread takes each, and its
// rows wait here until all earlier pieces are output. A block has rows of one n: those of documents (row_block), or of a
// whole collection (rows_from_order.cpp).
#pragma once

#include <oneapi/tbb/task_arena.h>

#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <mutex>
#include <numeric>
#include <utility>
#include <vector>

#include "ops/ngram_likelihood/rows/row_column.hpp"
#include "quern/ops/ngram_likelihood.hpp"

namespace quern::ngram_detail {

inline constexpr std::size_t first_rows = std::size_t{1}
                                          << 14;  ///< of a block; those not written take no memory

/// Waiting rows of one n, in columns.
class row_block {
  public:
    using rows_type = ngram_rows;

    row_block(unsigned n, bool history_counts) : n_(n), history_counts_(history_counts) {}

    static constexpr std::size_t row_bytes(bool history_counts) { return history_counts ? 40 : 28; }

    /// Write positions of the next rows; the columns of history counts are null unless requested.
    struct columns {
        std::uint32_t *documents, *firsts, *in_document;
        std::uint64_t* in_collection;
        double* weights;
        std::uint32_t* history_in_document;
        std::uint64_t* history_in_collection;
    };
    columns add(std::size_t count) {
        const std::size_t at = size_;
        size_ += count;
        if (size_ > documents_.size()) grow();
        return {documents_.data() + at,
                firsts_.data() + at,
                in_document_.data() + at,
                in_collection_.data() + at,
                weights_.data() + at,
                history_counts_ ? history_in_document_.data() + at : nullptr,
                history_counts_ ? history_in_collection_.data() + at : nullptr};
    }
    std::size_t size() const { return size_; }
    void clear() { size_ = 0; }
    ngram_rows rows() const {
        const std::size_t with_history = history_counts_ ? size_ : 0;
        return {n_,
                {documents_.data(), size_},
                {firsts_.data(), size_},
                {in_document_.data(), size_},
                {in_collection_.data(), size_},
                {weights_.data(), size_},
                {history_in_document_.data(), with_history},
                {history_in_collection_.data(), with_history}};
    }

  private:
    void grow() {
        const std::size_t capacity = std::max<std::size_t>({first_rows, size_, 2 * documents_.size()});
        // The checked one last: after a failure all grow again.
        if (history_counts_) {
            history_in_document_.grow(capacity);
            history_in_collection_.grow(capacity);
        }
        firsts_.grow(capacity);
        in_document_.grow(capacity);
        in_collection_.grow(capacity);
        weights_.grow(capacity);
        documents_.grow(capacity);
    }

    unsigned n_;
    bool history_counts_;
    std::size_t size_ = 0;
    row_column<std::uint32_t> documents_, firsts_, in_document_, history_in_document_;
    row_column<std::uint64_t> in_collection_, history_in_collection_;
    row_column<double> weights_;
};

/// The result of a piece: a block for each n, and the numbers of distinct n-grams.
template <class Block>
struct piece_blocks {
    std::vector<Block> blocks;
    std::vector<std::uint64_t> distinct;

    /// For n from `first_n` to `order`.
    piece_blocks(unsigned first_n, unsigned order, bool history_counts)
        : distinct(order - first_n + 1), max_rows_(order - first_n + 1) {
        for (unsigned n = first_n; n <= order; ++n) blocks.emplace_back(n, history_counts);
    }
    std::size_t rows() const {
        std::size_t sum = 0;
        for (const Block& block : blocks) sum += block.size();
        return sum;
    }
    /// Keeps the memory.
    void clear() {
        for (std::size_t b = 0; b < blocks.size(); ++b) {
            max_rows_[b] = std::max(max_rows_[b], blocks[b].size());
            blocks[b].clear();
        }
        distinct.assign(distinct.size(), 0);
    }
    /// Those of each n that there is memory for, added.
    std::size_t rows_kept() const { return std::reduce(max_rows_.begin(), max_rows_.end()); }

  private:
    std::vector<std::size_t> max_rows_;
};

template <class Block>
class ordered_blocks {
  public:
    using piece = piece_blocks<Block>;
    using row_sink = std::function<void(const typename Block::rows_type&)>;

    /// At most about `max_waiting` rows of complete pieces wait. Memory for more than `max_kept` rows of a piece is freed once they
    /// are output.
    ordered_blocks(unsigned first_n, const ngram_options& options, const row_sink& sink,
                   std::size_t max_waiting, std::size_t max_kept = std::numeric_limits<std::size_t>::max())
        : first_n_(first_n),
          order_(options.order),
          history_counts_(options.history_counts),
          take_(sink),
          max_waiting_(max_waiting),
          max_kept_(max_kept) {
        for (unsigned n = first_n; n <= options.order; ++n) totals_.push_back({.n = n});
    }

    /// An empty buffer for the rows of a piece.
    piece capacity() {
        const std::lock_guard hold(mutex_);
        if (free_.empty()) return empty();
        piece taken = std::move(free_.back());
        free_.pop_back();
        return taken;
    }

    /// A piece has many rows: outputs them if it is its turn, and waits for that if it has `max_rows`. Then clears them.
    void relieve(std::size_t number, piece& rows, std::size_t max_rows) {
        std::unique_lock hold(mutex_);
        if (number != turn_ && rows.rows() < max_rows) return;
        changed_.wait(hold, [&] { return failed_ || number == turn_; });
        if (!failed_) give_out(rows);
    }

    /// A piece is complete; false if another one has failed. Pieces may arrive in any order; each must have begun before
    /// the later ones.
    bool complete(std::size_t number, piece rows) {
        std::unique_lock hold(mutex_);
        changed_.wait(hold, [&] { return failed_ || number == turn_ || waiting_rows_ < max_waiting_; });
        if (failed_) return false;
        waiting_rows_ += rows.rows();
        waiting_.emplace(number, std::move(rows));
        for (auto next = waiting_.find(turn_); next != waiting_.end(); next = waiting_.find(turn_)) {
            waiting_rows_ -= next->second.rows();
            give_out(next->second);
            if (free_.size() < max_free) free_.push_back(std::move(next->second));
            waiting_.erase(next);
            ++turn_;
        }
        changed_.notify_all();
        return true;
    }

    /// Releases waiting pieces after one has thrown.
    void fail() {
        const std::lock_guard hold(mutex_);
        failed_ = true;
        changed_.notify_all();
    }

    const std::vector<ngram_totals>& totals() const { return totals_; }

  private:
    void give_out(piece& rows) {
        for (std::size_t b = 0; b < rows.blocks.size(); ++b) {
            totals_[b].distinct += rows.distinct[b];
            totals_[b].rows += rows.blocks[b].size();
            // Work of `sink` on several threads must not start another piece here, which would request the lock again.
            if (rows.blocks[b].size() != 0)
                tbb::this_task_arena::isolate([&] { take_(rows.blocks[b].rows()); });
        }
        rows.clear();
        if (rows.rows_kept() > max_kept_) rows = empty();
    }
    piece empty() const { return piece(first_n_, order_, history_counts_); }

    /// Reused buffers; more than this many pieces wait only if they are small.
    static constexpr std::size_t max_free = 8;

    const unsigned first_n_, order_;
    const bool history_counts_;
    const row_sink& take_;
    const std::size_t max_waiting_, max_kept_;
    std::mutex mutex_;
    std::condition_variable changed_;
    bool failed_ = false;
    std::size_t turn_ = 0, waiting_rows_ = 0;
    std::map<std::size_t, piece> waiting_;
    std::vector<piece> free_;
    std::vector<ngram_totals> totals_;
};
using piece_rows = piece_blocks<row_block>;
using ordered_rows = ordered_blocks<row_block>;

}  // namespace quern::ngram_detail
