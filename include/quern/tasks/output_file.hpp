// SPDX-License-Identifier: Apache-2.0
// A result file that appears under its name whole or not at all, compressed where its name says so.
#pragma once

#include <filesystem>
#include <memory>
#include <string_view>

#include "quern/base/context.hpp"

namespace quern {

struct output_options {
    bool replace = false;  ///< an existing file
    /// What is written: an ending such as ".npy" for a file that is no plain text; empty for text.
    std::string_view form = {};
};

/// Throws usage_error where `path` can be no output of this kind: a file that exists and is not to be replaced; a folder;
/// within no folder; a name that asks for another form (".npy", ".graphml", …) or for a compression that is not written
/// (".bz2", ".xz", …). Writes nothing.
void check_output(const std::filesystem::path& path, const output_options& options = {});

/// Whether the name ends in .gz or .zst, so that an output_file is compressed.
bool is_compressed_name(const std::filesystem::path& path);

/// The ending of a name that says what is written, in small letters, without that of a compression: ".tsv" of "A.TSV.gz".
std::string form_of_name(const std::filesystem::path& path);

/// Writes beside the final name and renames on commit(); without commit() nothing remains. What is no regular
/// file (/dev/null, a FIFO) is written to directly. A name in .gz is written as one gzip member, one in .zst as one zstd frame:
/// the same bytes for the same content, whatever the calls and the threads.
class output_file {
  public:
    /// Throws what check_output throws, and io_error where nothing can be created beside the name. `run`, which outlives the
    /// file, compresses; its stop_signal makes write() and commit() throw interrupted there.
    output_file(const std::filesystem::path& path, const output_options& options, const context& run);
    ~output_file();
    output_file(output_file&&) noexcept;
    output_file& operator=(output_file&&) noexcept;

    void write(std::string_view bytes);
    void flush();   ///< hands what is buffered to the system, but for what waits to be compressed
    void commit();  ///< once, last: waits for the disk and gives the file its name

  private:
    struct state;
    std::unique_ptr<state> state_;
};

}  // namespace quern
