// SPDX-License-Identifier: Apache-2.0
// Argument checks of words(), before the work, and its parameters.
#pragma once

#include <functional>
#include <string_view>

#include "quern/base/error.hpp"
#include "quern/ops/word_similarity.hpp"
#include "quern/tasks/words.hpp"
#include "tasks/store/opened_store.hpp"
#include "tasks/words/corpus_words.hpp"

namespace quern {

inline constexpr std::string_view triples_format = "triples";

/// Thrown by words() for a corpus too small for a space: fewer than two words in the vocabulary, no co-occurrences.
class too_little final : public invalid_input {
  public:
    using invalid_input::invalid_input;
};

/// Reads the words of a store.
using words_reader = std::function<void(corpus_words& into, const context& ctx)>;

/// words() of an opened store's texts; `options.inputs` is its name in messages. The options are not checked. `read`: instead
/// of cutting the texts into words.
words_result words_of_store(const opened_store& store, const words_options& options, const context& ctx,
                            const words_reader& read = {});

/// The options with the resolved path of the space and the dimensions of lsa. Throws usage_error if they are out of
/// range or mutually exclusive, for a space that cannot be created there, and for missing inputs.
words_options checked(const words_options& request);

/// The parameters of similar_words() for a space.
similarity_options similarity_of(const space_params& params, similarity_method method);
similarity_options similarity_of(const words_options& options);

}  // namespace quern
