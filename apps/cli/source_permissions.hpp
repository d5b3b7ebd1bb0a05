// SPDX-License-Identifier: Apache-2.0
// Keeps files private that are made from private files.
#pragma once

#include <filesystem>
#include <span>

namespace quern::cli {

/// Restricts the umask of this process to the permissions of the inputs: if the group or others cannot read one
/// of their files or the named folder, they cannot read the files created from now on. Names that are not files
/// are ignored; - is standard input, which may be a file. Cost: one stat per file, until one is found that
/// neither may read.
void keep_private(std::span<const std::filesystem::path> inputs, bool follow_links);

/// While it exists, only the user can read files that this process creates.
class private_files {
  public:
    private_files();
    ~private_files();
    private_files(const private_files&) = delete;  // a process has one mask
    private_files& operator=(const private_files&) = delete;

  private:
    unsigned before_;
};

}  // namespace quern::cli
