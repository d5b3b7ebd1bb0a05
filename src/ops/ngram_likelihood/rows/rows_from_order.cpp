// SPDX-License-Identifier: Apache-2.0
#include "ops/ngram_likelihood/rows/rows_from_order.hpp"

#include <algorithm>
#include <utility>

#include "ops/ngram_likelihood/rows/blocks_from_order.hpp"
#include "ops/ngram_likelihood/rows/ordered_rows.hpp"
#include "ops/ngram_likelihood/rows/row_maker.hpp"

namespace quern::ngram_detail {
namespace {

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
    stats.tables = stats.table_bytes(stats.document_count(), options.order) * place.threads() <=
                   place.memory().left() / 2;
    return blocks_from_order<row_block>(place, sorted.shared, stats.first_n(), options, sink,
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

}  // namespace quern::ngram_detail
