// SPDX-License-Identifier: Apache-2.0
// What a build is made of, in words: two builds that read alike make the same store. For stores that are kept for a corpus,
// and for builds that go on where a killed one stopped.
#pragma once

#include <filesystem>
#include <string>

#include "quern/tasks/build.hpp"

namespace quern {

/// Whether it is a file or a folder: something that can be read again.
bool lies_still(const std::filesystem::path& input);

/// What is asked for: which inputs, that lie still, read how. Without the stages.
std::string describe_request(const build_options& corpus);

/// What the answer depends on beside: names, sizes and times of the files that a build would look at, and the versions of
/// the format and of the rules for words.
std::string describe_content(const build_options& corpus);

}  // namespace quern
