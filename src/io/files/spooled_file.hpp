// SPDX-License-Identifier: Apache-2.0
// A stream as a file, for formats that are read from their end.
#pragma once

#include "io/byte_source.hpp"
#include "io/files/mapped_file.hpp"
#include "quern/base/context.hpp"

namespace quern::io {

/// Copies the rest of `source` to a scratch file and maps it. The file has no name any more: it is gone when it is unmapped.
/// Throws what reading throws, and io_error if the scratch folder has no room.
mapped_file spooled(byte_source& source, const context& ctx);

}  // namespace quern::io
