// SPDX-License-Identifier: Apache-2.0
// A result file that appears complete or not at all, compressed if its name says so.
#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <string_view>

#include "quern/base/context.hpp"

namespace quern {

struct output_options {
    bool replace = false;  ///< replace an existing file
    /// The endings of a special format, such as ".npy", separated by blanks; empty for plain text.
    std::string_view form = {};
    std::string_view written = {};  ///< the same in words, for messages; empty: text
};

/// Throws usage_error if `path` cannot be an output of this kind: an existing file that must not be replaced; a
/// folder, or a name with a trailing slash; in a missing folder; too long; a name that implies another format
/// (".npy", ".graphml", …) or an unsupported compression (".bz2", ".xz", …). Throws io_error if the folder is
/// not writable. Writes nothing.
void check_output(const std::filesystem::path& path, const output_options& options = {});

/// The same for a folder of results: throws usage_error if it is a file, has no parent folder, or its name is
/// too long; io_error if the folder, or else its parent, is not writable.
void check_output_folder(const std::filesystem::path& path);

/// Whether the name ends in .gz or .zst, which makes an output_file compressed.
bool is_compressed_name(const std::filesystem::path& path);

/// The ending of a name that implies its format, in lower case, without that of a compression: ".tsv" of
/// "A.TSV.gz".
std::string form_of_name(const std::filesystem::path& path);

/// Writes to a temporary name in the same folder and renames on commit(); without commit() nothing remains.
/// Writes directly to anything but a regular file (/dev/null, a FIFO) and to an open descriptor (/dev/stdout,
/// /dev/fd/3). A .gz file is one gzip member, a .zst file one zstd frame: the same bytes for the same content, for any
/// sequence of calls and number of threads.
class output_file {
  public:
    /// Throws what check_output throws, and io_error if the temporary file cannot be created. `ctx`, which must
    /// outlive the file, provides the threads for compression; its stop_signal then makes write() and commit()
    /// throw interrupted.
    output_file(const std::filesystem::path& path, const output_options& options, const context& ctx);
    ~output_file();
    output_file(output_file&&) noexcept;
    output_file& operator=(output_file&&) noexcept;

    void write(std::string_view bytes);
    void flush();   ///< passes buffered data to the system, except data waiting for compression
    void commit();  ///< once, at the end: waits for the disk and renames the file
    /// Commits all files or, if one fails, none. Exceptions: a file that was replaced before a later rename failed stays
    /// replaced, and a special file keeps what was written to it.
    static void commit_together(std::span<output_file* const> files);

  private:
    struct state;
    std::unique_ptr<state> state_;
};

}  // namespace quern
