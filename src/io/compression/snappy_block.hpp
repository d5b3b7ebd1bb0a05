// SPDX-License-Identifier: Apache-2.0
// Snappy's raw format (github.com/google/snappy, format_description.txt), of known length in memory, as columnar files have it.
// libsnappy as distributions compile it calls memmove for every few bytes; the copies here are of a fixed width.
#pragma once

#include <span>
#include <string_view>

namespace quern::io {

/// False if the data are damaged, or are not exactly of the length of `plain`, whose bytes are then unspecified. Any threads.
/// Cost: one pass.
bool decompress_snappy(std::string_view packed, std::span<char> plain);

}  // namespace quern::io
