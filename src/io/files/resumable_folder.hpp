// SPDX-License-Identifier: Apache-2.0
// As atomic_folder, for work in stages: what a killed process left is looked at, and may be gone on from.
#pragma once

#include <filesystem>
#include <functional>
#include <string_view>

#include "device/files/descriptor.hpp"
#include "io/files/atomic_file.hpp"

namespace quern::io {

/// Collects files in a folder within a hidden sibling (`.NAME.quern-xxxxxx/folder`), with room for notes beside it, and
/// renames it on commit(). The destructor removes what was not committed, so that only a killed process leaves
/// something, or one that said so.
class resumable_folder {
  public:
    /// Whether one can go on from what a killed process left: given its folder and, above it, its notes.
    using judge =
        std::function<bool(const std::filesystem::path& folder, const std::filesystem::path& notes)>;

    /// Leftovers that `goes_on` refuses are removed, and of several that it accepts all but one. Throws as atomic_folder
    /// does.
    resumable_folder(const std::filesystem::path& path, existing policy, const judge& goes_on);
    resumable_folder(const resumable_folder&) = delete;  // one owner publishes or removes the temporary
    resumable_folder& operator=(const resumable_folder&) = delete;
    ~resumable_folder();

    /// What gets the final name.
    std::filesystem::path folder() const { return notes_ / inner_name; }
    /// Where notes lie; empty once it is committed.
    const std::filesystem::path& notes() const noexcept { return notes_; }

    /// What was not committed stays, for the next one to go on from.
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
