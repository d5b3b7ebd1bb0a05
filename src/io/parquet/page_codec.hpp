// SPDX-License-Identifier: Apache-2.0
// The codecs of Parquet pages: each page is compressed by itself, and its header says how long it becomes.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "io/parquet/metadata.hpp"
#include "quern/base/context.hpp"

namespace quern::io::parquet {

/// Whether decompress() knows it.
bool is_supported(codec which);

/// Fills `plain` from `packed`. Throws fault if the bytes are damaged or of another length. Any threads.
void decompress(codec which, std::string_view packed, std::span<char> plain);

/// The opposite: the same bytes for the same input. Of those that decompress() knows, not Brotli and the old framing of LZ4. Throws
/// usage_error for others and for more than 2 GiB.
std::string compress(codec which, std::string_view plain, const context& ctx);

}  // namespace quern::io::parquet
