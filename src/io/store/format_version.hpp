// SPDX-License-Identifier: Apache-2.0
// What is said of a file whose format this program does not read; docs/formats.md has the policy.
#pragma once

#include <fmt/format.h>

#include <string>

namespace quern::io {

/// The reason, without the file's name: the version found, the one that is read, and what to do.
inline std::string other_format_version(unsigned found, unsigned expected) {
    return fmt::format("has format version {}, but this program reads version {}; {}", found, expected,
                       found > expected ? "install a newer Quern"
                                        : "a Quern before 1.0 made it: make it again from its input");
}

}  // namespace quern::io
