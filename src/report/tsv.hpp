// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace quern::report {

/// Appends `text` as a field: a run of tabs and line ends becomes one space, ill-formed UTF-8 becomes U+FFFD.
void append_tsv_field(std::string& out, std::string_view text);

}  // namespace quern::report
