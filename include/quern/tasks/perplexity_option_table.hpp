// SPDX-License-Identifier: Apache-2.0
// The options of perplexities.
#pragma once

#include <array>

#include "quern/base/option.hpp"
#include "quern/tasks/perplexity.hpp"

namespace quern {

template <>
inline constexpr auto options_of<perplexity_options> = std::array{
    option_for<&perplexity_options::sentences>(
        "sentences", "A row for each sentence, with its number in the document after the id: ID:1, ID:2 …"),
    option_for<&perplexity_options::tokenized>("tokenized",
                                               "The texts are words separated by blanks, a sentence on each "
                                               "line, as for KenLM. Otherwise the text "
                                               "options find words and sentences."),
    option_for<&perplexity_options::marks>(
        "marks", "WHEN", sentence_mark_names,
        "Whether each sentence is scored between <s> and </s>. auto: if the model predicts </s>."),
    option_for<&perplexity_options::weights>("weights", "X...",
                                             "With --interpolate: a weight for each model, in their order, "
                                             "as in \"0.7 0.3\"; only their ratio counts. "
                                             "Default: equal ones."),
    option_for<&perplexity_options::tune>("tune",
                                          "With --interpolate: write no scores, but the weights that predict "
                                          "the corpus best; use a text that no "
                                          "model was made from."),
};

}  // namespace quern
