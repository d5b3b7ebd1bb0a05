// SPDX-License-Identifier: Apache-2.0
// The files of a folder in document order: by relative path in bytes. Folders are listed one at a time when the walk
// reaches them, so that a tree of millions of files needs little memory.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "io/corpus/corpus.hpp"

namespace quern::io {

/// How a change of a file is noticed. The time of change, which only the system sets, notices also other permissions,
/// and a file moved to the place of another.
struct file_state {
    std::uint64_t bytes = 0, number = 0;
    std::int64_t modified = 0, changed = 0;  ///< nanoseconds since 1970
    friend bool operator==(const file_state&, const file_state&) = default;
};

/// Nothing if it cannot be examined.
std::optional<file_state> state_of(const std::filesystem::path& file);

struct folder_file {
    std::string relative;  ///< with '/' between its parts
    std::filesystem::path path;
    std::uint64_t bytes = 0;
    bool is_named = false;  ///< given by the user, not found in a folder
    file_state state = {};  ///< of a file of a walk, when its folder was listed
};

/// The name and the mark of the list of files that dedup, filter and decontaminate write next to the documents that they keep.
inline constexpr std::string_view kept_list_name = "manifest.json", kept_list_format = "quern kept documents";

/// Whether the file is such a list. A walk skips it, so that the folder can be the corpus of the next command.
bool is_kept_list(const std::filesystem::path& path);

class folder_walk {
  public:
    /// `follow_links`: follow symbolic links that lead out of the folder.
    explicit folder_walk(std::filesystem::path root, bool follow_links = false);

    /// The next file, or nothing at the end. Every file comes once.
    ///
    /// Skipped and counted in `notes`: hidden files and folders; everything that is neither file nor folder; symbolic
    /// links that lead to a place inside, or nowhere; links out of the folder, unless links are followed and their
    /// target was not reached before. So links can neither loop nor duplicate a document. A folder that cannot be
    /// listed and a file that cannot be examined are issues.
    std::optional<folder_file> next(parsed_unit& notes);

  private:
    struct entry {
        std::string name;  ///< ends with '/' for a folder: that sorts whole relative paths
        file_state state = {};
        bool link = false;
        bool file = false;  ///< a regular file, or a link to one
        int failed = 0;     ///< the error that prevents examining it
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
    bool follow_links_;
    std::filesystem::path real_root_;
    std::vector<level> levels_;
    std::set<std::pair<std::uint64_t, std::uint64_t>> followed_;  ///< device and file number
    bool started_ = false;
};

/// The sum of a folder's file sizes, for progress; 0 if there are too many files to count.
std::uint64_t folder_bytes(const std::filesystem::path& root, bool follow_links);

}  // namespace quern::io
