// SPDX-License-Identifier: Apache-2.0
// Decodes on a separate thread, a bounded distance ahead of the reader.
#pragma once

#include <memory>

#include "io/compression/decoder.hpp"

namespace quern::io {

/// The same bytes and exceptions as `inner`'s, at the same positions. Cancels `input` if the result is destroyed before
/// its end, so that waiting for a pipe ends too.
std::unique_ptr<decoder> make_read_ahead(std::unique_ptr<decoder> inner, raw_input& input);

}  // namespace quern::io
