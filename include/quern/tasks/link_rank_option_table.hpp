// SPDX-License-Identifier: Apache-2.0
// The options of the ranks of a graph besides those of PageRank (quern/ops/link_rank_option_table.hpp).
#pragma once

#include <array>
#include <string_view>

#include "quern/base/option.hpp"
#include "quern/ops/link_rank_option_table.hpp"
#include "quern/tasks/link_rank.hpp"

namespace quern {

inline constexpr std::string_view graph_format_names[] = {"edges", "matrix-market"};

template <>
inline constexpr auto options_of<link_rank_options> = std::array{
    option_for<&link_rank_options::method>("method", "NAME", rank_method_names,
                                           "pagerank, or hits (authorities and hubs)."),
    option_for<&link_rank_options::weighted>(
        "weighted", "Use the third field of a line, or the values of the matrix, as weights of links."),
    option_for<&link_rank_options::input_format>("input_format", "FORM", graph_format_names,
                                                 "edges or matrix-market.")
        .with_note("detected from the content")};

}  // namespace quern
