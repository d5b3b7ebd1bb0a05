// SPDX-License-Identifier: Apache-2.0
// NumPy's file format for arrays (version 1.0): a header, then the numbers by rows.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace quern::io {

/// The header of a two-dimensional array of little-endian numbers; `type`: "<f4", "<f8". A multiple of 64 bytes.
std::string npy_header(std::string_view type, std::uint64_t rows, std::uint64_t columns);

}  // namespace quern::io
