// SPDX-License-Identifier: Apache-2.0
// The options of the nearest vectors of files.
#pragma once

#include <array>

#include "quern/base/option.hpp"
#include "quern/ops/nearest_option_table.hpp"
#include "quern/tasks/nearest.hpp"

namespace quern {

template <>
inline constexpr auto options_of<nearest_request> =
    std::array{same_option<&nearest_request::k>(option_of<retrieval_options>("top")),
               same_option<&nearest_request::radius>(option_of<retrieval_options>("radius")),
               same_option<&nearest_request::metric>(option_of<vector_set_options>("metric")),
               same_option<&nearest_request::method>(option_of<vector_set_options>("method")),
               option_for<&nearest_request::tensor>(
                   "tensor", "NAME", "The tensor to read from a safetensors file with several.")};

}  // namespace quern
