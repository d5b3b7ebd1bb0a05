// SPDX-License-Identifier: Apache-2.0
// zstd data of known length in memory, as columnar files have them.
#pragma once

#include <span>
#include <string_view>

namespace quern::io {

/// False if the data are damaged, or are not exactly of the length of `plain`. Thread-safe.
bool decompress_zstd(std::string_view packed, std::span<char> plain);

}  // namespace quern::io
