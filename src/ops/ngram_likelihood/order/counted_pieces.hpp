// SPDX-License-Identifier: Apache-2.0
// The n-grams of a collection whose order does not fit in memory: in pieces of first words, each sorted in memory.
#pragma once

#include "ops/ngram_likelihood/ngram_methods.hpp"

namespace quern::ngram_detail {

/// Passes the n-grams of the collection to `sink`, and notes their totals, without occurrences, and the pieces; nothing is
/// spilled. The words are read once for each piece and up to five times before. False, before anything is passed on, if the
/// n-grams that begin with the same two words do not fit (repetitive text), or if there were very many pieces.
bool count_by_pieces(cpu_place& place, const ngram_collection& collection, const ngram_options& options,
                     const collection_sink& sink, ngram_record& record);

}  // namespace quern::ngram_detail
