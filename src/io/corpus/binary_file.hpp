// SPDX-License-Identifier: Apache-2.0
// One file to one document of bytes: neither decompressed nor decoded.
#pragma once

#include "io/byte_source.hpp"
#include "io/corpus/corpus.hpp"
#include "io/corpus/folder_walk.hpp"
#include "quern/base/context.hpp"

namespace quern::io {

/// Adds the file's document to `out`, or the reason against it: unreadable or too large (issues). `opened`: its bytes, if
/// it is already open. Throws as parse_file() does. Memory: twice the bytes of a regular file.
void parse_binary_file(const folder_file& file, const corpus_options& options, const reading_budget& budget,
                       const context& ctx, parsed_unit& out, byte_source* opened = nullptr);

}  // namespace quern::io
