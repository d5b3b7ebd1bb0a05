// SPDX-License-Identifier: Apache-2.0
// The words of a store that a word of a query may stand for: those that begin with it, if it is still being typed, and
// those that differ from it by a few edits.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "quern/tasks/search.hpp"
#include "tasks/search/part_lists.hpp"
#include "tasks/store/opened_store.hpp"
#include "text/near_word_finder.hpp"

namespace quern {

/// Maximum number of edits by the length of a word in characters: none below 4, one below 8, else two; none above 64.
std::uint32_t max_typos(std::string_view word);

/// What stands for a word besides itself.
struct variant_request {
    std::string word;
    query_field field = query_field::any;
    std::uint32_t edits = 0;
    /// The word as typed so far, neither stemmed nor dropped: words that begin with it stand for it, too; empty: none.
    std::string beginning;

    bool none() const { return edits == 0 && beginning.empty(); }
    friend auto operator<=>(const variant_request&, const variant_request&) = default;
};

/// Variants that are equally near; a document with a nearer one does not count for them.
struct variant_tier {
    std::uint32_t distance = 0;  ///< in edits; 0: words that begin with the word
    store_words words;
};

/// For the words near others, of a store that must outlive it.
struct near_finders {
    explicit near_finders(const opened_store& store)
        : words(store.words().dictionary()), title_words(store.title_words().dictionary()) {}
    text::near_word_finder words, title_words;
};

/// The nearest first, some perhaps without words; their number and distances depend on the request alone. Words that begin with
/// the word come before those with edits. `of_beginnings`: whether the edits are those of beginnings of words.
/// `folded`: null, or words count by their forms without accents.
std::vector<variant_tier> variants_of(const opened_store& store, const variant_request& request,
                                      bool of_beginnings, const folded_words* folded,
                                      const near_finders& near, const context& ctx);

}  // namespace quern
