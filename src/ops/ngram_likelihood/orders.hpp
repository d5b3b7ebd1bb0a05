// SPDX-License-Identifier: Apache-2.0
// The ways to the one order of positions that rows are made from.
#pragma once

#include <cstdint>

#include "device/array.hpp"
#include "ops/ngram_likelihood/documents.hpp"
#include "ops/ngram_likelihood/rows_from_order.hpp"

namespace quern::ngram_detail {

/// Owns what sorted_ngrams shows.
template <class Position>
struct ngram_order {
    cpu_array<Position> positions;
    cpu_array<std::uint8_t> shared;
    sorted_ngrams<Position> view() const { return {positions.span(), shared.span()}; }
};

/// Words packed into 64-bit keys, one radix sort; ties by the words behind (packed_order.cpp). Takes 28 bytes a word of memory.
template <class Position>
ngram_order<Position> packed_order(cpu_place& place, const ngram_collection& collection,
                                   const document_table& documents, unsigned order);

/// Comparing words as strings (strings.cpp).
template <class Position>
ngram_order<Position> order_of_strings(cpu_place& place, const ngram_collection& collection,
                                       const document_table& documents, unsigned order);

}  // namespace quern::ngram_detail
