// SPDX-License-Identifier: Apache-2.0
// What stands at the door of words(): refusals before the work, and what the work is asked for.
#pragma once

#include <string_view>

#include "quern/base/error.hpp"
#include "quern/ops/word_similarity.hpp"
#include "quern/tasks/words.hpp"
#include "tasks/store/opened_store.hpp"

namespace quern {

inline constexpr std::string_view triples_format = "triples";

/// Thrown by words() for a corpus of which no space can be made: fewer than two words in the vocabulary, none that meet.
class too_little final : public invalid_input {
  public:
    using invalid_input::invalid_input;
};

/// words() of an opened store's texts; `options.inputs` is what messages call it. The options are not checked.
words_result words_of_store(const opened_store& store, const words_options& options, const context& run);

/// The options with the path of the space resolved and the dimensions of lsa filled in. Throws usage_error where they
/// are out of range or exclude each other, for a space that cannot be made there, and for missing inputs.
words_options checked(const words_options& request);

/// What similar_words() is asked for a space.
similarity_options similarity_of(const space_question& question, similarity_method method);

}  // namespace quern
