// SPDX-License-Identifier: Apache-2.0
// The files of a folder in the order that "sorted by document" means: by relative path in bytes. Folders are
// listed one at a time as the walk reaches them, so that a tree of millions of files costs little memory.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "io/corpus/corpus.hpp"

namespace quern::io {

struct folder_file {
    std::string relative;  ///< with '/' between its parts
    std::filesystem::path path;
    std::uint64_t bytes = 0;
};

class folder_walk {
  public:
    explicit folder_walk(std::filesystem::path root);

    /// The next file, or nothing at the end. Hidden files and folders are left out and counted in `notes`, as
    /// is everything that is neither file nor folder. Every file comes once: a symbolic link is followed when
    /// it leads out of the folder and nobody led there before; one that leads to a place inside, or nowhere, is
    /// counted and left out, so that links can neither loop nor double a document. A folder that cannot be listed
    /// and a file that cannot be looked at are issues.
    std::optional<folder_file> next(parsed_unit& notes);

  private:
    struct entry {
        std::string name;  ///< ends with '/' where it is a folder: that sorts whole relative paths
        std::uint64_t bytes = 0;
        bool link = false;
        bool file = false;  ///< an ordinary one, or a link to one
        int failed = 0;     ///< why nothing is known of it
    };
    struct level {
        std::string relative;  ///< "" or ends with '/'
        std::vector<entry> entries;
        std::size_t at = 0;
        bool outside = false;  ///< reached through a link
    };

    void enter(std::string relative, bool outside, parsed_unit& notes);
    static entry examine(const std::filesystem::path& path);
    bool takes(const entry& found, const std::filesystem::path& path, parsed_unit& notes);
    bool takes_link(const entry& found, const std::filesystem::path& path, parsed_unit& notes);

    std::filesystem::path root_;
    std::filesystem::path real_root_;
    std::vector<level> levels_;
    std::set<std::pair<std::uint64_t, std::uint64_t>> followed_;  ///< device and file number
    bool started_ = false;
};

/// The sum of a folder's file sizes, for progress; 0 where it holds so many files that counting is not worth
/// it.
std::uint64_t folder_bytes(const std::filesystem::path& root);

}  // namespace quern::io
