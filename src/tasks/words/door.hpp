// SPDX-License-Identifier: Apache-2.0
// What stands at the door of words(): refusals before the work, and what the work is asked for.
#pragma once

#include <string_view>

#include "quern/ops/word_similarity.hpp"
#include "quern/tasks/words.hpp"

namespace quern {

inline constexpr std::string_view triples_format = "triples";

/// The options with the path of the space resolved and the dimensions of lsa filled in. Throws usage_error where they
/// are out of range or exclude each other, for a space that cannot be made there, and for missing inputs.
words_options checked(const words_options& request);

/// What similar_words() is asked for a space.
similarity_options similarity_of(const space_question& question, similarity_method method);

}  // namespace quern
