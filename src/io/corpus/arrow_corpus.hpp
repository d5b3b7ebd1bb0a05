// SPDX-License-Identifier: Apache-2.0
// Arrow IPC files and streams (Feather version 2): each row is a document, its columns by name, as of Parquet files. Only the
// columns that are needed are read, a record batch at a time.
#pragma once

#include <filesystem>
#include <memory>

#include "io/arrow/ipc_file.hpp"
#include "io/byte_source.hpp"
#include "io/corpus/corpus.hpp"
#include "quern/base/context.hpp"

namespace quern::io {

/// The file at `path`. `opened`: its bytes if it is not a regular file, or compressed: these are written to a scratch file
/// first. Throws invalid_input if it is damaged where its columns are described, or has not the columns that documents need;
/// io_error, usage_error if there is no such file.
std::unique_ptr<corpus_reader> read_arrow(const std::filesystem::path& path,
                                          std::unique_ptr<byte_source> opened, const corpus_options& options,
                                          const context& ctx);

/// The same of an open file.
std::unique_ptr<corpus_reader> read_arrow(const std::shared_ptr<const arrow::ipc_file>& file,
                                          const corpus_options& options, const context& ctx);

}  // namespace quern::io
