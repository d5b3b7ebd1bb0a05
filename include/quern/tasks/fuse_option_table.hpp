// SPDX-License-Identifier: Apache-2.0
// The options of fused runs besides those of fusion (quern/ops/fusion_option_table.hpp).
#pragma once

#include <array>

#include "quern/base/option.hpp"
#include "quern/ops/fusion_option_table.hpp"
#include "quern/tasks/fuse.hpp"

namespace quern {

template <>
inline constexpr auto options_of<fuse_request> =
    std::array{option_for<&fuse_request::ranks>("ranks", "SOURCE", rank_source_names,
                                                "Source of the ranks for rrf and borda: scores (the position "
                                                "in the topic by score, then id) or field (the rank "
                                                "in the file).")};

}  // namespace quern
