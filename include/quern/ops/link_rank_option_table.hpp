// SPDX-License-Identifier: Apache-2.0
// The options of PageRank and HITS.
#pragma once

#include <array>

#include "quern/base/option.hpp"
#include "quern/ops/link_rank.hpp"

namespace quern {

template <>
inline constexpr auto options_of<page_rank_options> = std::array{
    option_for<&page_rank_options::damping>("damping", "X", {.min = 0, .below = 1},
                                            "Share of rank that follows links."),
    option_for<&page_rank_options::tolerance>("tolerance", "X", {.above = 0},
                                              "Stop when a step changes the ranks, whose sum is 1, by less "
                                              "than X in total. The error is then at most "
                                              "damping/(1 - damping) times the change; it is reported."),
    option_for<&page_rank_options::max_iterations>(
        "max_iterations", "N", {.min = 1},
        "Maximum number of steps. Ranks that have not converged are written with a warning."),
    option_for<&page_rank_options::dangling>("dangling", "RULE", dangling_rule_names,
                                             "Where the rank of nodes without outgoing links goes: uniform "
                                             "(to all nodes), preference (to the nodes of "
                                             "--personalize) or none (it is lost, and the sum is below 1)."),
    option_for<&page_rank_options::storage>(
        "storage", "NAME", rank_storage_names,
        "auto (integers; exact), or floating point over a matrix stored as "
        "coo, csr, ell, brc, brcp or brcp-paper. brc and "
        "brcp-paper may give different bits in each run."),
    option_for<&page_rank_options::precision>(
        "precision", "NAME", value_precision_names,
        "Type of the ranks, with a storage other than auto: f64 or f32.")};

template <>
inline constexpr auto options_of<hits_options> =
    std::array{same_option<&hits_options::tolerance>(option_of<page_rank_options>("tolerance")),
               same_option<&hits_options::max_iterations>(option_of<page_rank_options>("max_iterations"))};

}  // namespace quern
