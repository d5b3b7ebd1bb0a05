// SPDX-License-Identifier: Apache-2.0
// The options of BM25F, and the lengths that they need from a store.
#pragma once

#include <span>
#include <string>

#include "quern/ops/field_search.hpp"
#include "quern/tasks/search.hpp"
#include "tasks/search/part_lists.hpp"
#include "tasks/store/opened_store.hpp"

namespace quern {

/// Whether the options ask for BM25F.
bool weighs_fields(const search_options& options);

/// Throws usage_error for weights that are malformed or conflict with the other options. `indexed`: the names of the
/// indexed fields. The lengths are not set.
field_ranking field_ranking_of(const search_options& options, std::span<const std::string> indexed);

/// The words of the documents' own titles. Cost: a pass over the titles' postings; the titles of documents with
/// near-duplicates are analysed.
field_lengths lengths_of_titles(const opened_store& store, const words_of_text& words_of);
/// The words of an indexed field. Cost: a pass over its postings.
field_lengths lengths_of_field(const opened_store& store, const word_index& field);

}  // namespace quern
