// SPDX-License-Identifier: Apache-2.0
#include "ops/ngram_likelihood/rows/rows_from_order.hpp"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "device/cpu/parallel.hpp"
#include "device/paced_checks.hpp"
#include "ops/ngram_likelihood/rows/documents.hpp"
#include "ops/ngram_likelihood/rows/ordered_rows.hpp"
#include "ops/ngram_likelihood/rows/row_maker.hpp"

namespace quern::ngram_detail {
namespace {

// Pieces of the order that threads take one by one.

/// Cuts the order between first words into pieces of about equal size; returns the start of each, and the end.
std::vector<std::size_t> cut_at_first_words(const context& ctx, std::span<const std::uint8_t> shared) {
    constexpr std::size_t piece_positions = std::size_t{1} << 14;
    paced_checks checks(ctx, neighbouring_values);
    std::vector<std::size_t> begins{0};
    for (std::size_t i = piece_positions; i < shared.size(); i = begins.back() + piece_positions) {
        checks.after(piece_positions);
        for (; i < shared.size() && shared[i] != 0; ++i) checks.after(1);
        if (i < shared.size())
            begins.push_back(i);
        else
            break;
    }
    begins.push_back(shared.size());
    return begins;
}

/// `shared` as in sorted_ngrams. make_maker() gives a thread its maker. make(begin, end, piece, max_held, relieve) adds
/// the rows of these sorted positions to the piece, and calls `relieve` after about every `max_held` rows. `threads`: how
/// many work at once at most.
template <class Block, class MakeMaker>
std::vector<ngram_totals> blocks_from_order(cpu_place& place, unsigned threads,
                                            std::span<const std::uint8_t> shared, unsigned first_n,
                                            const ngram_options& options,
                                            const typename ordered_blocks<Block>::row_sink& sink,
                                            const MakeMaker& make_maker) {
    constexpr std::size_t row_bytes = 80;  // maximum, with the columns half full
    const std::vector<std::size_t> begins = cut_at_first_words(place.ctx(), shared);
    // Rows take at most an eighth of the memory: half of them wait, half belong to the pieces being worked on. A thread
    // checks for its turn more often than it fills its share.
    const std::size_t max_waiting =
        std::min<std::size_t>(std::size_t{1} << 21, place.memory().limit() / 16 / row_bytes);
    const std::size_t bulk_of_piece = std::max<std::size_t>(1, max_waiting / threads);
    const std::size_t max_held = std::min<std::size_t>(std::size_t{1} << 16, bulk_of_piece);
    ordered_blocks<Block> out(first_n, options, sink, max_waiting);
    std::atomic<std::size_t> next{0};
    const std::size_t pieces = shared.empty() ? 0 : begins.size() - 1;
    for_each_piece(place, std::min<std::size_t>(pieces, threads), [&](std::size_t) {
        try {
            auto maker = make_maker();
            // Pieces are taken in order, so the one whose turn it is never waits.
            for (std::size_t p = next++; p < pieces; p = next++) {
                place.ctx().check_stop();
                typename ordered_blocks<Block>::piece rows = out.capacity();
                maker.make(begins[p], begins[p + 1], rows, max_held, [&] {
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

/// The number of distinct words of each document.
template <class Position>
cpu_array<std::uint32_t> distinct_words(cpu_place& place, const sorted_ngrams<Position>& sorted,
                                        const document_table& documents, std::uint64_t document_count) {
    cpu_array<std::uint32_t> distinct(place, document_count, "distinct words of documents");
    cpu_array<std::uint64_t> seen_in(place, document_count, "distinct words of documents");
    std::fill_n(distinct.data(), distinct.size(), 0);
    std::fill_n(seen_in.data(), seen_in.size(), ~std::uint64_t{0});
    std::uint64_t word = 0;
    for (std::size_t i = 0; i < sorted.positions.size(); ++i) {
        if (i % (std::size_t{1} << 16) == 0) place.ctx().check_stop();
        if (i != 0 && sorted.shared[i] == 0) ++word;
        const std::uint32_t document = documents.of(sorted.positions[i]).document;
        if (std::exchange(seen_in.data()[document], word) != word) ++distinct.data()[document];
    }
    return distinct;
}

}  // namespace

template <class Position>
std::vector<ngram_totals> rows_from_order(cpu_place& place, const sorted_ngrams<Position>& sorted,
                                          const document_table& documents,
                                          std::span<const std::uint64_t> offsets,
                                          const ngram_options& options,
                                          const std::function<void(const ngram_rows&)>& sink) {
    collection_stats<Position> stats{sorted, documents, offsets, options, {}, false};
    cpu_array<std::uint32_t> distinct;
    if (options.smoothing == ngram_smoothing::absolute) {
        distinct = distinct_words(place, sorted, documents, stats.document_count());
        stats.distinct_words = distinct.span();
    }
    // Half of what is left for documents, an eighth for places. With little memory, fewer threads work.
    const std::uint64_t left = place.memory().left(), each = stats.holder_bytes(stats.document_count());
    const auto makers = static_cast<unsigned>(
        std::clamp<std::uint64_t>(left / 2 / std::max<std::uint64_t>(each, 1), 1, place.threads()));
    stats.tables = (each + stats.table_bytes(stats.document_count(), options.order)) * makers <= left / 2;
    constexpr std::uint64_t max_places = std::uint64_t{1} << 21, bytes_a_place = 16;  // in order, and sorted
    stats.max_places = std::clamp<std::uint64_t>(left / 8 / makers / bytes_a_place, 1024, max_places);
    return blocks_from_order<row_block>(place, makers, sorted.shared, stats.first_n(), options, sink,
                                        [&] { return row_maker<Position>(place, stats); });
}

template std::vector<ngram_totals> rows_from_order(cpu_place&, const sorted_ngrams<std::uint32_t>&,
                                                   const document_table&, std::span<const std::uint64_t>,
                                                   const ngram_options&,
                                                   const std::function<void(const ngram_rows&)>&);
template std::vector<ngram_totals> rows_from_order(cpu_place&, const sorted_ngrams<std::uint64_t>&,
                                                   const document_table&, std::span<const std::uint64_t>,
                                                   const ngram_options&,
                                                   const std::function<void(const ngram_rows&)>&);

// An n-gram's count is the length of its range: documents are examined only where a range begins, for n-grams that end
// there.

namespace {

/// Waiting n-grams of one n, in columns.
class collection_block {
  public:
    using rows_type = collection_ngrams;

    collection_block(unsigned n, bool history_counts) : n_(n), with_history_(history_counts) {}

    void add(std::uint64_t position, std::uint64_t count, std::uint64_t history_count) {
        if (size_ == positions_.size()) grow();
        positions_[size_] = position;
        counts_[size_] = count;
        if (with_history_) history_counts_[size_] = history_count;
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
        const std::size_t capacity = std::max<std::size_t>(256, 2 * size_);
        positions_.resize(capacity);
        counts_.resize(capacity);
        if (with_history_) history_counts_.resize(capacity);
    }

    unsigned n_;
    bool with_history_;
    std::size_t size_ = 0;
    std::vector<std::uint64_t> positions_, counts_, history_counts_;
};

template <class Position>
class collection_maker {
  public:
    collection_maker(const context& ctx, const sorted_ngrams<Position>& sorted,
                     const document_table& documents, const ngram_options& options)
        : checks_(ctx, neighbouring_values),
          sorted_(sorted),
          documents_(documents),
          order_(options.order),
          first_n_(options.only ? options.order : 1),
          min_count_(options.min_count) {}

    void make(std::size_t begin, std::size_t end, piece_blocks<collection_block>& out, std::size_t max_held,
              const std::function<void()>& relieve) {
        out_ = &out;
        relieve_ = &relieve;
        max_held_ = max_held;
        cut(1, begin, end, sorted_.positions.size());
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
        const std::uint8_t* const shared = sorted_.shared.data();
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
            const std::uint64_t longest = std::min<std::uint64_t>(order_, words_left(begin));
            while (n++ < longest) give(n, begin, 1, 1);
            return;
        }
        // The end of a document sorts before every word.
        while (begin < end && words_left(begin) == n) ++begin;
        cut(n + 1, begin, end, end - begin);
    }

    std::uint64_t words_left(std::size_t i) const {
        const std::uint64_t position = sorted_.positions[i];
        return documents_.of(position).end - position;
    }

    void give(unsigned n, std::size_t i, std::uint64_t count, std::uint64_t followed) {
        if (n < first_n_) return;
        out_->blocks[n - first_n_].add(sorted_.positions[i], count, followed);
        ++out_->distinct[n - first_n_];
        ++made_;
    }

    paced_checks checks_;
    const sorted_ngrams<Position>& sorted_;
    const document_table& documents_;
    unsigned order_, first_n_;
    std::uint64_t min_count_;
    piece_blocks<collection_block>* out_ = nullptr;
    const std::function<void()>* relieve_ = nullptr;
    std::size_t max_held_ = 0, made_ = 0;  ///< n-grams since the last output
};

}  // namespace

template <class Position>
std::vector<ngram_totals> collection_from_order(cpu_place& place, const sorted_ngrams<Position>& sorted,
                                                const document_table& documents, const ngram_options& options,
                                                const std::function<void(const collection_ngrams&)>& sink) {
    std::vector<ngram_totals> totals = blocks_from_order<collection_block>(
        place, place.threads(), sorted.shared, options.only ? options.order : 1, options, sink,
        [&] { return collection_maker<Position>(place.ctx(), sorted, documents, options); });
    for (ngram_totals& of_n : totals) of_n.rows = 0;  // no document contains one
    return totals;
}

template std::vector<ngram_totals> collection_from_order(
    cpu_place&, const sorted_ngrams<std::uint32_t>&, const document_table&, const ngram_options&,
    const std::function<void(const collection_ngrams&)>&);
template std::vector<ngram_totals> collection_from_order(
    cpu_place&, const sorted_ngrams<std::uint64_t>&, const document_table&, const ngram_options&,
    const std::function<void(const collection_ngrams&)>&);

}  // namespace quern::ngram_detail
