// SPDX-License-Identifier: Apache-2.0
// The options of texts that a language model generates.
#pragma once

#include <array>

#include "quern/base/option.hpp"
#include "quern/tasks/language_model.hpp"

namespace quern {

template <>
inline constexpr auto options_of<compact_model_options> =
    std::array{option_for<&compact_model_options::quantize>(
        "quantize", "BITS", {.max = 16},
        "Bits of a probability and of a back-off weight, from 2 words on; 0: all values are exact.")};

template <>
inline constexpr auto options_of<generate_options> = std::array{
    option_for<&generate_options::count>("generate", "N", {.min = 0, .max = 1000000000},
                                         "Read no corpus, but write N random texts: each word by its "
                                         "probability after the words before it."),
    option_for<&generate_options::seed>("seed", "N", {},
                                        "With --generate: the same number gives the same texts."),
    option_for<&generate_options::max_words>(
        "max_words", "N", {.min = 1, .max = 1000000},
        "With --generate: end a text after N words, if </s> does not earlier."),
    option_for<&generate_options::begin>("begin", "WORDS",
                                         "With --generate: the words with which each text begins."),
};

}  // namespace quern
