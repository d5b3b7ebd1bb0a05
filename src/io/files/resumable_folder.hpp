// SPDX-License-Identifier: Apache-2.0
// As atomic_folder, for work in stages: what a killed process left may be resumed.
#pragma once

#include <filesystem>
#include <functional>
#include <string_view>

#include "device/files/descriptor.hpp"
#include "io/files/atomic_file.hpp"

namespace quern::io {

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
