// SPDX-License-Identifier: Apache-2.0
// The words of a store by their form without accents: for queries that ignore accents in a store that has them.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "quern/base/context.hpp"
#include "tasks/search/part_lists.hpp"
#include "tasks/store/opened_store.hpp"
#include "text/dictionary.hpp"
#include "text/near_word_finder.hpp"

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

    /// The words whose form has accents that it lacks, by this form, near that of a word as text::near_word_finder finds them,
    /// or, with `of_beginnings`, as text::near_beginnings does.
    struct near_form {
        const store_words* words;
        std::uint32_t distance;
    };
    std::vector<near_form> near(std::string_view form, std::uint32_t bound, bool of_beginnings,
                                const context& ctx) const;

  private:
    const opened_store& store_;
    std::map<std::string, store_words, std::less<>> forms_;  // without the words that are their own form
    std::vector<const store_words*> by_form_;                // of forms_, in its order
    std::string form_bytes_;                                 // the dictionary of the forms
    std::optional<text::dictionary_view> form_dictionary_;   // nothing if there are none
    std::optional<text::near_word_finder> form_finder_;
};

}  // namespace quern
