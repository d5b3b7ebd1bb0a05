// SPDX-License-Identifier: Apache-2.0
// One output file that appears under its name whole or not at all.
#pragma once

#include <filesystem>
#include <string_view>

#include "device/files/file_writer.hpp"

namespace quern::io {

enum class existing { refuse, replace };

/// Throws usage_error where no file of this name can be made: a file is there and `policy` is refuse, or a folder is, or it
/// would lie in none. Makes nothing.
void check_target(const std::filesystem::path& path, existing policy);

/// Writes beside the final name (`.NAME.quern-xxxxxx`), and renames on commit(). Without commit() nothing
/// remains, and leftovers of a killed process are removed by the next atomic_file of the same name.
/// A symbolic link is followed, so that the link stays; what is no regular file (/dev/null, a FIFO) is
/// written to directly, because it cannot be replaced.
class atomic_file {
  public:
    /// Throws what check_target throws, and io_error where nothing can be created beside the name.
    explicit atomic_file(const std::filesystem::path& path, existing policy = existing::refuse);
    atomic_file(const atomic_file&) = delete;  // one owner publishes or removes the temporary
    atomic_file& operator=(const atomic_file&) = delete;
    ~atomic_file();

    void append(std::string_view bytes) { writer_.append(bytes); }
    file_writer& writer() noexcept { return writer_; }
    const std::filesystem::path& path() const noexcept { return path_; }

    /// Flushes, waits for the disk, and gives the file its name (over the old one where told to replace; a
    /// file that appeared meanwhile is refused otherwise). Call it once, last.
    void commit();

  private:
    std::filesystem::path path_;
    existing policy_;
    std::filesystem::path temporary_;  ///< empty: written directly, or committed
    file_writer writer_;
};

}  // namespace quern::io
