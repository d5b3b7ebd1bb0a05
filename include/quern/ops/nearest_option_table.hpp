// SPDX-License-Identifier: Apache-2.0
// The options of nearest neighbours.
#pragma once

#include <array>

#include "quern/base/option.hpp"
#include "quern/ops/nearest.hpp"

namespace quern {

template <>
inline constexpr auto options_of<vector_set_options> = std::array{
    option_for<&vector_set_options::metric>("metric", "NAME", vector_metric_names,
                                            "l2, sql2 (its square), ip (inner product, largest first), "
                                            "cosine (1 - cosine), l1, linf or hamming (of bits; "
                                            "uint8 holds eight per byte)."),
    option_for<&vector_set_options::method>(
        "method", "NAME", retrieval_method_names,
        "auto, or reduction: sixteen partial sums per vector, then a full sort. The results are the same.")};

template <>
inline constexpr auto options_of<retrieval_options> = std::array{
    option_for<&retrieval_options::k>("top", "K|all", {.min = 1, .all = all_vectors},
                                      "Results per query; all writes the complete ranking.")
        .with_letter('k'),
    option_for<&retrieval_options::radius>(
        "radius", "R", {}, "Only vectors within this distance (ip: with at least this inner product).")};

}  // namespace quern
