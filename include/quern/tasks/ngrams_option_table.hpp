// SPDX-License-Identifier: Apache-2.0
// The options of the n-grams of a corpus besides those of n-grams (quern/ops/ngram_option_table.hpp).
#pragma once

#include <array>

#include "quern/base/option.hpp"
#include "quern/ops/ngram_option_table.hpp"
#include "quern/tasks/dictionary_option_table.hpp"
#include "quern/tasks/ngrams.hpp"
#include "quern/tasks/perplexity_option_table.hpp"

namespace quern {

template <>
inline constexpr auto options_of<ngrams_options> = std::array{
    same_option<&ngrams_options::titles>(option_of<dictionary_options>("titles")),
    same_option<&ngrams_options::tokenized>(option_of<perplexity_options>("tokenized")),
    option_for<&ngrams_options::sentences>(
        "sentences",
        "For --totals and --arpa: put <s> before and </s> after each sentence. No rows are written."),
    option_for<&ngrams_options::prune>("prune", "COUNTS",
                                       "kneser-ney: exclude n-grams that occur so many times or less, by "
                                       "length: \"0 0 1\" is 0 for single words and "
                                       "pairs, 1 from 3 words on."),
    option_for<&ngrams_options::limit_vocabulary>("limit_vocabulary", "FILE",
                                                  "kneser-ney: exclude n-grams with words that are not in "
                                                  "this file of words separated by white space.")};

}  // namespace quern
