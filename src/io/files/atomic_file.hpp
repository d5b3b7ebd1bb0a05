// SPDX-License-Identifier: Apache-2.0
// One output file that appears under its name whole or not at all.
#pragma once

#include <filesystem>
#include <span>
#include <string_view>

#include "device/files/file_writer.hpp"

namespace quern::io {

enum class existing { refuse, replace };

/// Throws usage_error if no file of this name can be created: a file exists and `policy` is refuse, or a folder exists
/// there, the parent folder is missing, the name ends in a slash or is too long; io_error if the folder, or an existing
/// special file, is not writable. Creates nothing.
void check_target(const std::filesystem::path& path, existing policy);

/// For a path that has just received its name: waits until the disk has its parent folder. Throws an io_error that
/// states the result: it is in place, complete, but a power cut may undo it.
void confirm_name(const std::filesystem::path& published);

/// Writes next to the final name (`.NAME.quern-xxxxxx`), and renames on commit(). Without commit() nothing remains;
/// leftovers of a killed process are removed by the next atomic_file of the same name. A symbolic link is followed, so
/// that the link stays; a special file (/dev/null, a FIFO) and an open descriptor (/dev/stdout, /dev/fd/3) are written
/// directly, because they cannot be replaced.
class atomic_file {
  public:
    /// Throws as check_target does, and io_error if nothing can be created next to the name.
    explicit atomic_file(const std::filesystem::path& path, existing policy = existing::refuse);
    atomic_file(const atomic_file&) = delete;  // one owner publishes or removes the temporary
    atomic_file& operator=(const atomic_file&) = delete;
    ~atomic_file();

    void append(std::string_view bytes) { writer_.append(bytes); }
    file_writer& writer() noexcept { return writer_; }
    const std::filesystem::path& path() const noexcept { return path_; }

    /// Flushes, waits for the disk, and renames the file to its name (replaces the old one if so requested; otherwise
    /// refuses a file that has appeared meanwhile). Call it once, last. If it throws, the previous file is unchanged,
    /// unless is_published().
    void commit();
    /// Commits all files or, if one fails, none. Exception: a file that was replaced before a later rename failed stays
    /// replaced.
    static void commit_together(std::span<atomic_file* const> files);
    /// The file has its name, even if commit() threw afterwards because the disk did not confirm it.
    bool is_published() const noexcept { return published_; }

  private:
    void prepare();        ///< all of commit() that comes before the name
    void publish();        ///< the name
    void take_back();      ///< the name of a new file
    void confirm() const;  ///< the name, on the disk

    std::filesystem::path path_;
    existing policy_;
    std::filesystem::path temporary_;  ///< empty: written directly, or committed
    file_writer writer_;
    bool published_ = false;
    bool is_file_ = false;  ///< published by a rename
};

}  // namespace quern::io
