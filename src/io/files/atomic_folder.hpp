// SPDX-License-Identifier: Apache-2.0
// A folder of files (a store) that appears under its name whole or not at all, also over an older one.
#pragma once

#include <filesystem>
#include <string_view>

#include "device/files/descriptor.hpp"
#include "io/files/atomic_file.hpp"

namespace quern::io {

/// Collects files in a hidden sibling (`.NAME.quern-xxxxxx`) and renames it on commit(). The destructor
/// removes what was not committed; leftovers of a killed process are removed when the same folder is built
/// next. Constructing several for one name at once is fine: each has its own sibling, the last commit wins
/// (with existing::refuse, the first).
class atomic_folder {
  public:
    /// Throws usage_error where `path` exists and `policy` is refuse, or where it is a file. Missing parent
    /// folders are an io_error. That an older folder may be replaced (that it is a store, and not somebody's
    /// home) is for the caller to check before.
    explicit atomic_folder(const std::filesystem::path& path, existing policy = existing::refuse);
    atomic_folder(const atomic_folder&) = delete;  // one owner publishes or removes the temporary
    atomic_folder& operator=(const atomic_folder&) = delete;
    ~atomic_folder();

    /// Where to put a file now: inside the temporary folder.
    std::filesystem::path file(std::string_view name) const { return temporary_ / name; }
    const std::filesystem::path& temporary() const noexcept { return temporary_; }
    const std::filesystem::path& path() const noexcept { return path_; }

    /// Waits until the disk has every file, then gives the folder its name. An older folder is exchanged in
    /// one step, so that a reader finds the old one or the new one, and then removed. Where the file system
    /// cannot exchange, the old one is renamed away first; a process killed between these two steps leaves it
    /// as `.NAME.quern-old`, which the next atomic_folder of that name puts back. Call it once, last.
    void commit();

  private:
    std::filesystem::path path_;
    existing policy_;
    std::filesystem::path temporary_;  ///< empty: committed
    descriptor lock_;
};

namespace detail {
/// Absolute, so that a later change of the working folder moves nothing; links followed; no '/' at the end. Throws
/// usage_error for what cannot be a folder's name.
std::filesystem::path settled(const std::filesystem::path& path);
/// Puts back what an interrupted commit() renamed away. Throws usage_error where `path` is a file, and where it exists
/// and `policy` is refuse.
void begin(const std::filesystem::path& path, existing policy);
/// What commit() does; true where an older folder now lies at `temporary`.
bool publish(const std::filesystem::path& temporary, const std::filesystem::path& path, existing policy);
/// The steps of commit() where two folders cannot be exchanged at once; apart for its test.
void replace_in_two_steps(const std::filesystem::path& fresh, const std::filesystem::path& final_name);
/// Undoes a first step without its second.
void restore_renamed_away(const std::filesystem::path& final_name);
}  // namespace detail

}  // namespace quern::io
