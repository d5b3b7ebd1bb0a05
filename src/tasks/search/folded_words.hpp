// SPDX-License-Identifier: Apache-2.0
// The words of a store by their form without accents: for queries that ignore accents in a store that has them.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "tasks/search/part_lists.hpp"
#include "tasks/store/opened_store.hpp"

namespace quern {

class folded_words {
  public:
    /// The store must outlive it. Cost: a pass over the vocabulary; memory for the words with accents.
    explicit folded_words(const opened_store& store);
    /// The words that differ from this one by accents alone, with the word itself if the store has it.
    store_words like(std::string_view word) const;
    /// Those whose form without accents begins with that of `beginning`.
    store_words beginning_with(std::string_view beginning) const;
    /// Whether there is a word besides the word itself.
    bool has_others(std::string_view word) const;

  private:
    const opened_store& store_;
    std::map<std::string, store_words, std::less<>> forms_;  // without the words that are their own form
};

}  // namespace quern
