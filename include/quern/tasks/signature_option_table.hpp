// SPDX-License-Identifier: Apache-2.0
// The options of signatures.
#pragma once

#include <array>

#include "quern/base/option.hpp"
#include "quern/ops/duplicate_option_table.hpp"
#include "quern/tasks/signature.hpp"

namespace quern {

template <>
inline constexpr auto options_of<signature_options> =
    std::array{same_option<&signature_options::length>(option_of<duplicate_options>("signature_length"))
                   .with_help("Maximum number of letters.")};

}  // namespace quern
