// SPDX-License-Identifier: Apache-2.0
// One file to one document: text, markdown, HTML or source code, decompressed and decoded.
#pragma once

#include <cstdint>

#include "io/byte_source.hpp"
#include "io/corpus/folder_walk.hpp"
#include "quern/base/context.hpp"

namespace quern::io {

/// Adds the file's document to `out`, or what speaks against it: unreadable, too large (issues), binary (a
/// count). `opened`: its bytes, where it is open already. Throws interrupted and out_of_memory as `run` has it.
void parse_file(const folder_file& file, std::uint64_t max_document_bytes, const context& run,
                parsed_unit& out, byte_source* opened = nullptr);

}  // namespace quern::io
