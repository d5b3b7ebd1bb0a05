// SPDX-License-Identifier: Apache-2.0
// The n-grams of a collection beyond memory: one range of beginnings after another, each sorted in memory.
#pragma once

#include "ops/ngram_likelihood/ngram_methods.hpp"

namespace quern::ngram_detail {

/// Passes the n-grams of the collection to `sink`; notes the numbers of different ones and the pieces, as collection_from_order.
/// Nothing is spilled: the words are read once for each piece, and twice before. False, before anything is passed on, if the
/// n-grams with the same first words do not fit (repetitive texts), if there were too many pieces, or if an n-gram and a position
/// need more than 256 bits.
bool count_by_pieces(cpu_place& place, const ngram_collection& collection, const ngram_options& options,
                     const collection_sink& sink, ngram_record& record);

}  // namespace quern::ngram_detail
