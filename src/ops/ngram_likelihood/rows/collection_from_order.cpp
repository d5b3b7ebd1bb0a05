// SPDX-License-Identifier: Apache-2.0
// An n-gram's count is the length of its range: documents are examined only where a range begins, for n-grams that end
// there.
#include <algorithm>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "ops/ngram_likelihood/rows/blocks_from_order.hpp"
#include "ops/ngram_likelihood/rows/documents.hpp"
#include "ops/ngram_likelihood/rows/rows_from_order.hpp"

namespace quern::ngram_detail {
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
    collection_maker(const sorted_ngrams<Position>& sorted, const document_table& documents,
                     const ngram_options& options)
        : sorted_(sorted),
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
        const std::uint8_t* const shared = sorted_.shared.data();
        while (begin < end) {
            std::size_t next = begin + 1;
            while (next < end && shared[next] >= n) ++next;
            range_of(n, begin, next, followed);
            begin = next;
            if (made_ < max_held_) continue;
            (*relieve_)();
            made_ = 0;
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
        place, sorted.shared, options.only ? options.order : 1, options, sink,
        [&] { return collection_maker<Position>(sorted, documents, options); });
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
