// SPDX-License-Identifier: Apache-2.0
// Queries of stores of weights (word_listing::weights): words as they are, each with its weight.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "quern/tasks/search.hpp"
#include "tasks/search/analysed_query.hpp"
#include "tasks/store/opened_store.hpp"

namespace quern {

/// The parts of a query for a store of weights (search_engine::search says how it is written): one for each word.
/// Throws usage_error for a weight that is out of range.
analysed_query weighted_query(std::string_view query);

/// As search_engine::ranks_by and require_model.
bool ranks_by(const opened_store& store, ranking_model model);
void require_model(const opened_store& store, ranking_model model);

/// The options of a query for a store of weights: defaults that need the words of texts are off. Throws usage_error for
/// requests that such a store cannot serve.
search_options fitted_to_weights(search_options options, const opened_store& store);

}  // namespace quern
