// SPDX-License-Identifier: Apache-2.0
// The options of the n-grams of a corpus besides those of n-grams (quern/ops/ngram_option_table.hpp).
#pragma once

#include <array>

#include "quern/base/option.hpp"
#include "quern/ops/ngram_option_table.hpp"
#include "quern/tasks/dictionary_option_table.hpp"
#include "quern/tasks/ngrams.hpp"

namespace quern {

template <>
inline constexpr auto options_of<ngrams_options> =
    std::array{same_option<&ngrams_options::titles>(option_of<dictionary_options>("titles"))};

}  // namespace quern
