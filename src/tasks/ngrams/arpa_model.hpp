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

/// What a history loses with its rare n-grams is known from its own count only.
inline bool model_needs_histories(const ngram_options& options) {
    return options.min_count > 1;
}

/// Throws invalid_input for words among those counted that the format cannot hold: with white space, or of those it keeps for
/// itself.
void check_arpa_words(const ngram_corpus& corpus, collection_counts& counts, std::string_view input);

/// `counts` has every n up to the order, and is used up. Gives the file's text to `write`; returns how many n-grams it has.
std::uint64_t write_arpa_model(const ngram_corpus& corpus, const ngram_options& options,
                               collection_counts& counts, scratch_folder& scratch, table_share& share,
                               const context& run, const std::function<void(std::string_view)>& write);

}  // namespace quern
