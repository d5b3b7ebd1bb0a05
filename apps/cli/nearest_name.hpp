// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace quern::cli {

/// The name in a list closest to a mistyped one, for "did you mean": a few edits away, or the only one with
/// this prefix; empty if none is close. Leading dashes do not count.
std::string nearest_name(std::string_view typed, const std::vector<std::string>& names);

}  // namespace quern::cli
