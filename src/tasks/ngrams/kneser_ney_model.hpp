// SPDX-License-Identifier: Apache-2.0
// A back-off model of a corpus with sentence marks, smoothed by modified Kneser-Ney, in the ARPA format.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "tasks/ngrams/collection_counts.hpp"
#include "tasks/ngrams/model_pruning.hpp"
#include "tasks/ngrams/ngram_corpus.hpp"
#include "tasks/ngrams/scratch_table.hpp"

namespace quern {

/// As write_arpa_model. `corpus` has marks; `counts` has every n up to `order`, without a minimum count.
std::uint64_t write_kneser_ney_model(const ngram_corpus& corpus, unsigned order, const model_pruning& pruning,
                                     collection_counts& counts, scratch_folder& scratch, table_share& share,
                                     const context& ctx, const std::function<void(std::string_view)>& sink);

}  // namespace quern
