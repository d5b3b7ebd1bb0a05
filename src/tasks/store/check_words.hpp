// SPDX-License-Identifier: Apache-2.0
// Cross-checks the posting lists against the token stream.
#pragma once

#include "quern/base/context.hpp"
#include "tasks/store/opened_store.hpp"

namespace quern {

/// Reads all words, with all threads. Checks
/// - every posting list (search_detail::check_postings);
/// - that each document has as many words as its length says, all of them in the dictionary;
/// - that both have the same words of the same documents equally often: by a sum of hashes, so that a disagreement is
///   missed with a chance of 2^-64.
///
/// Throws damaged_store. Cost: about five nanoseconds a word.
void check_words(const opened_store& store, const context& ctx);

}  // namespace quern
