// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace quern::io {

/// "a%20b" as "a b"; drops tabs and line ends, at which links may be wrapped.
std::string percent_decoded(std::string_view text);

}  // namespace quern::io
