// SPDX-License-Identifier: Apache-2.0
// One file to one document: text, markdown, HTML or source code, decompressed and decoded.
#pragma once

#include <string>

#include "io/byte_source.hpp"
#include "io/corpus/corpus.hpp"
#include "io/corpus/folder_walk.hpp"
#include "quern/base/context.hpp"
#include "quern/base/error.hpp"

namespace quern::io {

/// The reason for skipping a file that the system cannot open or read.
std::string unreadable(const io_error& failed);

/// Adds the file's document to `out`, or the reason against it: unreadable, too large (issues), binary (a count).
/// `opened`: its bytes, if it is already open. Throws interrupted according to `ctx`, io_error if the system has no
/// descriptors or memory for any file, and out_of_memory if the document needs more than `budget`: nothing is added then.
void parse_file(const folder_file& file, const corpus_options& options, const reading_budget& budget,
                const context& ctx, parsed_unit& out, byte_source* opened = nullptr);

}  // namespace quern::io
