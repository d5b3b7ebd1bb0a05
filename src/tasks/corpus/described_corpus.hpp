// SPDX-License-Identifier: Apache-2.0
// Describes the input of a build: builds with equal descriptions make the same store. For stores kept for a corpus, and
// for resuming a build that was killed.
#pragma once

#include <filesystem>
#include <string>

#include "quern/tasks/build.hpp"

namespace quern {

/// Appends a file's name, size and times.
void describe_file(const std::filesystem::path& path, std::string& out);

/// Whether it is a file or a folder, so that it can be read again.
bool lies_still(const std::filesystem::path& input);

/// The request: which inputs (files and folders only), and how they are read. Without the stages.
std::string describe_request(const build_options& corpus);

/// What else the result depends on: names, sizes and times of the files that a build would read, and the versions of
/// the format and of the word rules.
struct described_content {
    std::string text;
    /// Whether every file was changed so long before the call that the system's time of change shows any later change: clocks of
    /// file systems tick every few milliseconds, some every two seconds.
    bool shows_changes = true;
    /// Whether the time of writing shows it, too, which a system without the other might have alone.
    bool is_settled = true;
};
described_content describe_content(const build_options& corpus);

}  // namespace quern
