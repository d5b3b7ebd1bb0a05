// SPDX-License-Identifier: Apache-2.0
// From sorted n-grams to rows, for every n at once. One order of positions, by their first `order` words, has the n-grams
// of every length as ranges: neighbours that share n words. A range of n is cut into ranges of n + 1, so that its history's
// counts are known when its rows are made.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "device/cpu/cpu_place.hpp"
#include "ops/ngram_likelihood/rows/documents.hpp"
#include "quern/ops/ngram_likelihood.hpp"

namespace quern::ngram_detail {

/// Positions by their first `order` words, the end of a document before every word; equal ones by position. shared[i]: the
/// number of equal leading words of the positions i - 1 and i, at most `order`; shared[0] is 0.
template <class Position>
struct sorted_ngrams {
    std::span<const Position> positions;
    std::span<const std::uint8_t> shared;
};

/// `offsets`: of the documents. Passes rows to `sink` in order; returns the totals for each n.
template <class Position>
std::vector<ngram_totals> rows_from_order(cpu_place& place, const sorted_ngrams<Position>& sorted,
                                          const document_table& documents,
                                          std::span<const std::uint64_t> offsets,
                                          const ngram_options& options,
                                          const std::function<void(const ngram_rows&)>& sink);
/// The same of the collection as a whole (rows_from_order.cpp).
template <class Position>
std::vector<ngram_totals> collection_from_order(cpu_place& place, const sorted_ngrams<Position>& sorted,
                                                const document_table& documents, const ngram_options& options,
                                                const std::function<void(const collection_ngrams&)>& sink);

}  // namespace quern::ngram_detail
