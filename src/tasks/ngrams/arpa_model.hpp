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

/// Throws invalid_input for words that the format cannot hold: with white space, or of those it keeps for itself.
void check_arpa_words(const ngram_corpus& corpus, std::string_view input);

/// `counts` has every n up to the order, and is used up. Gives the file's text to `write`; returns how many n-grams it has.
std::uint64_t write_arpa_model(const ngram_corpus& corpus, const ngram_options& options,
                               collection_counts& counts, scratch_folder& scratch, table_share& share,
                               const context& run, const std::function<void(std::string_view)>& write);

}  // namespace quern
