// SPDX-License-Identifier: Apache-2.0
// The rules that know ASCII only.
#pragma once

#include <string_view>

#include "text/analyzer.hpp"

namespace quern::text {

/// Appends the runs of letters (and digits, where wanted) of ASCII, in lower case.
void find_plain_words(std::string_view text, bool digits, token_list& out);

}  // namespace quern::text
