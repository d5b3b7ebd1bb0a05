// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace quern::io {

/// "a%20b" as "a b"; tabs and line ends, which links may be broken over, dropped.
std::string percent_decoded(std::string_view text);

}  // namespace quern::io
