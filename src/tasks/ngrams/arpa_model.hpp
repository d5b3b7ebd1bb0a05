// SPDX-License-Identifier: Apache-2.0
// A back-off model of a collection, from the counts of its n-grams, in the ARPA format.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "tasks/ngrams/collection_counts.hpp"
#include "tasks/ngrams/ngram_corpus.hpp"
#include "tasks/ngrams/scratch_table.hpp"

namespace quern {

inline constexpr std::string_view model_needs_all_lengths =
    "a back-off model needs the n-grams of every length up to the order";

/// What a history loses with its rare n-grams follows only from its own count.
inline bool model_needs_histories(const ngram_options& options) {
    return options.min_count > 1;
}

/// Removes from `counts` the n-grams with words that the format cannot represent: those with white space, and its
/// reserved words. The model is then that of the others, as if a higher `min_count` had excluded these. Returns the
/// number of such words, and warns.
std::uint64_t leave_out_unwritable_words(const ngram_corpus& corpus, collection_counts& counts,
                                         const context& ctx);

/// `counts` has every n up to the order, and is consumed. Passes the file's text to `write`; returns its number of
/// n-grams.
std::uint64_t write_arpa_model(const ngram_corpus& corpus, const ngram_options& options,
                               collection_counts& counts, scratch_folder& scratch, table_share& share,
                               const context& ctx, const std::function<void(std::string_view)>& sink);

}  // namespace quern
