// SPDX-License-Identifier: Apache-2.0
// WARC files of web crawls, versions 0.17 to 1.1 (https://iipc.github.io/warc-specifications): pages of servers'
// responses, and the texts of WET files.
#pragma once

#include <memory>

#include "io/byte_source.hpp"
#include "io/corpus/corpus.hpp"

namespace quern::io {

/// Reads `source` to its end. document::line is the record's number in the file, from 1.
///
/// A record that is damaged is rejected, and reading goes on at the next header after an empty line; where compressed data
/// are damaged, at the next member of gzip. Memory besides units: 64 KiB to 1 MiB of the file, a record's header, and
/// repeated_ids.
std::unique_ptr<corpus_reader> read_warc(std::unique_ptr<byte_source> source, const corpus_options& options,
                                         const context& ctx);

}  // namespace quern::io
