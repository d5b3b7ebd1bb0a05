// SPDX-License-Identifier: Apache-2.0
// A folder of files (a store) that appears under its name whole or not at all, even if it replaces an older one.
#pragma once

#include <filesystem>
#include <functional>
#include <string_view>
#include <utility>

#include "device/files/descriptor.hpp"
#include "io/files/atomic_file.hpp"

namespace quern::io {

/// Throws usage_error if no folder of this name can be created or written: a file exists there, the parent is missing,
/// the name is too long; io_error if the existing folder, or else its parent, is not writable. Creates nothing.
void check_folder_target(const std::filesystem::path& path);

/// Collects files in a hidden sibling (`.NAME.quern-xxxxxx`) and renames it on commit(). The destructor removes what
/// was not committed; the next build of the same folder removes leftovers of a killed process. Several objects for one
/// name may exist at once: each has its own sibling, the last commit wins (with existing::refuse, the first).
class atomic_folder {
  public:
    /// Throws usage_error if `path` exists and `policy` is refuse, or if it is a file; io_error if a parent folder is
    /// missing. The caller must check before that an older folder may be replaced (that it is a store, not a home
    /// folder).
    explicit atomic_folder(const std::filesystem::path& path, existing policy = existing::refuse);
    atomic_folder(const atomic_folder&) = delete;  // one owner publishes or removes the temporary
    atomic_folder& operator=(const atomic_folder&) = delete;
    ~atomic_folder();

    /// The current path for a file: inside the temporary folder.
    std::filesystem::path file(std::string_view name) const { return temporary_ / name; }
    const std::filesystem::path& temporary() const noexcept { return temporary_; }
    const std::filesystem::path& path() const noexcept { return path_; }

    /// Waits until the disk has every file, then renames the folder. An older folder is exchanged in one step, so that
    /// a reader finds the old one or the new one, and then removed. If the file system cannot exchange, the old one is
    /// renamed away first; a process killed between these two steps leaves it as `.NAME.quern-old`, and the next
    /// atomic_folder of that name puts it back. Call it once, last. If it throws, the previous folder is unchanged,
    /// unless is_published().
    void commit();
    /// The folder has its name, even if commit() threw afterwards because the disk did not confirm it.
    bool is_published() const noexcept { return temporary_.empty(); }
    /// The lock taken when the folder was created: it applies under the final name too, while the descriptor is open.
    descriptor take_lock() noexcept { return std::move(lock_); }

  private:
    std::filesystem::path path_;
    existing policy_;
    std::filesystem::path temporary_;  ///< empty: committed
    descriptor lock_;
};

namespace detail {
/// Absolute, so that a later change of the working folder has no effect; links resolved; no '/' at the end. Throws
/// usage_error for what cannot be a folder's name.
std::filesystem::path settled(const std::filesystem::path& path);
/// Puts back what an interrupted commit() renamed away. Throws usage_error if `path` is a file, or if it exists and
/// `policy` is refuse.
void begin(const std::filesystem::path& path, existing policy);
/// The work of commit(); true if an older folder is now at `temporary`.
bool publish(const std::filesystem::path& temporary, const std::filesystem::path& path, existing policy);
/// Exchanges two folders if that cannot be done in one step; separate for its test.
void replace_in_two_steps(const std::filesystem::path& fresh, const std::filesystem::path& final_name);
/// Undoes a first step whose second is missing.
void restore_renamed_away(const std::filesystem::path& final_name);

/// Removes a folder with its contents at the end of a block, however it ends. Does nothing for an empty path.
struct removed_at_end {
    std::filesystem::path folder;

    explicit removed_at_end(std::filesystem::path path) : folder(std::move(path)) {}
    removed_at_end(const removed_at_end&) = delete;  // one removal
    removed_at_end& operator=(const removed_at_end&) = delete;
    ~removed_at_end();
};
}  // namespace detail

/// Removes what killed processes left next to the folder of this name, where no new one is made. The caller holds the name's
/// lock. What cannot be removed stays. Throws usage_error for what cannot be a folder's name.
void remove_leftovers(const std::filesystem::path& path);

// As atomic_folder, for work in stages: what a killed process left may be resumed.

/// Collects files in a folder within a hidden sibling (`.NAME.quern-xxxxxx/folder`), next to which notes may be kept,
/// and renames it on commit(). The destructor removes what was not committed, so that leftovers come only from a killed
/// process or after keep().
class resumable_folder {
  public:
    /// Whether leftovers of a killed process can be resumed: receives the folder and the notes above it.
    using judge =
        std::function<bool(const std::filesystem::path& folder, const std::filesystem::path& notes)>;

    /// Removes leftovers that `goes_on` refuses, and all but one of those that it accepts. Throws as atomic_folder
    /// does.
    resumable_folder(const std::filesystem::path& path, existing policy, const judge& goes_on);
    resumable_folder(const resumable_folder&) = delete;  // one owner publishes or removes the temporary
    resumable_folder& operator=(const resumable_folder&) = delete;
    ~resumable_folder();

    /// The folder that gets the final name.
    std::filesystem::path folder() const { return notes_ / inner_name; }
    /// The folder of the notes; empty after commit().
    const std::filesystem::path& notes() const noexcept { return notes_; }

    /// Keeps what was not committed, so that the next one can resume it.
    void keep() noexcept { kept_ = true; }
    /// As atomic_folder::commit(); then the notes are removed.
    void commit();

  private:
    static constexpr std::string_view inner_name = "folder";

    std::filesystem::path path_;
    existing policy_;
    std::filesystem::path notes_;  ///< empty: committed
    descriptor lock_;
    bool kept_ = false;
};

}  // namespace quern::io
