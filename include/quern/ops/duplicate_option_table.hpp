// SPDX-License-Identifier: Apache-2.0
// The options of near-duplicates.
#pragma once

#include <array>
#include <string_view>

#include "quern/base/option.hpp"
#include "quern/ops/near_duplicates.hpp"

namespace quern {

inline constexpr std::string_view edit_unit_names[] = {"byte", "char"};
inline constexpr std::string_view shingle_unit_names[] = {"word", "char"};

template <>
inline constexpr auto options_of<duplicate_options> = std::array{
    option_for<&duplicate_options::method>("method", "NAME", duplicate_method_names,
                                           "auto (provably complete), exhaustive (all pairs that the lengths "
                                           "allow), signature (fuzzy hashes first; "
                                           "misses some), shared-memory or global-memory (the same with "
                                           "the kernels of Wang 2015), shingle, simhash or "
                                           "i-match (compare words with their own measures)."),
    option_for<&duplicate_options::threshold>("threshold", "P", {.above = 0, .max = 0.5},
                                              "Find pairs whose edit rate is below P: edits divided by the "
                                              "sum of the two lengths. Equal texts have rate 0, "
                                              "texts of equal length with nothing in common 0.5."),
    option_for<&duplicate_options::unit>("unit", "UNIT", edit_unit_names,
                                         "Unit of an edit: byte or char (a code point)."),
    option_for<&duplicate_options::signature_length>(
        "signature_length", "N", {.min = 1, .max = 1000},
        "signature, shared-memory, global-memory: maximum number of letters."),
    option_for<&duplicate_options::slack>(
        "slack", "X", {.above = 0, .max = 100},
        "signature, shared-memory, global-memory: signatures below X times the threshold are candidates."),
    option_for<&duplicate_options::shingle>("shingle", "N", {.min = 1, .max = 100},
                                            "shingle: words, or characters, per shingle."),
    option_for<&duplicate_options::of_shingles>(
        "shingle_unit", "UNIT", shingle_unit_names,
        "shingle: what shingles are made of: word, or char (a code point of the text, unchanged; "
        "--shingle then counts characters, for example 24)."),
    option_for<&duplicate_options::similarity>("similarity", "X", {.above = 0, .max = 1},
                                               "shingle: minimum Jaccard similarity of a pair."),
    option_for<&duplicate_options::hamming>("hamming", "N", {.max = 16},
                                            "simhash: maximum number of differing bits."),
    option_for<&duplicate_options::cut>("cut", "N", "simhash: a bit is 1 if its sum exceeds N.")};

}  // namespace quern
