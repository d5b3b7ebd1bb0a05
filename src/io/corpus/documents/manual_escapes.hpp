// SPDX-License-Identifier: Apache-2.0
// The escapes of roff, which begin with a backslash.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>

namespace quern::io {

/// The strings that a page defines with .ds, for \\*(NAME.
using roff_strings = std::map<std::string, std::string, std::less<>>;

/// The characters that a line shows: escapes for characters and strings become these, others nothing.
std::string shown_by_roff(std::string_view text, const roff_strings& strings);

}  // namespace quern::io
