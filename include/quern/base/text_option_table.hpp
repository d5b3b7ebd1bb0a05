// SPDX-License-Identifier: Apache-2.0
// The options of words.
#pragma once

#include <array>

#include "quern/base/option.hpp"
#include "quern/base/text_options.hpp"

namespace quern {

template <>
inline constexpr auto options_of<text_options> = std::array{
    option_for<&text_options::language>(
        "language", "LANG",
        "auto, or a code such as en, de, zh, ja. zh-Hans and zh-Hant also write "
        "Chinese words in simplified or traditional characters."),
    option_for<&text_options::tokens>("tokens", "RULE", token_rule_names,
                                      "unicode (Unicode word boundaries, dictionaries for Chinese and "
                                      "Japanese, case folding), ascii (runs of a-z "
                                      "and 0-9 after lower-casing), letters (runs of a-z) or blanks (what "
                                      "stands between blanks, unchanged)."),
    option_for<&text_options::min_length>("min_length", "N", {.min = 1, .max = 1000},
                                          "Drop words of fewer characters."),
    option_for<&text_options::stop_words>("stop_words", "LIST",
                                          "none, lucene, the code of a language with a built-in list, or a "
                                          "file of at most 4 MiB with one word per "
                                          "line."),
    option_for<&text_options::stem>(
        "stem", "STEMMER", stemmer_names,
        "none; porter (the original one, for English); a Snowball stemmer by the name or "
        "the code of its language (german or de); or auto: that of --language."),
    option_for<&text_options::fold>(
        "fold", "RULE", folding_names,
        "accents: words are the same with and without accents (café is cafe, Ångström "
        "angstrom, smørrebrød smorrebrod).")};

}  // namespace quern
