// SPDX-License-Identifier: Apache-2.0
// Whether an errno value concerns a file, the run, or neither. A transient failure must never be reported as
// damage or as a fault of one file among many.
#pragma once

#include <cerrno>

namespace quern {

/// The file does not exist, or the path is not a file: retrying does not help.
constexpr bool says_missing(int code) noexcept {
    return code == ENOENT || code == ENOTDIR || code == EISDIR || code == ENODEV || code == ENXIO ||
           code == ELOOP || code == ENAMETOOLONG;
}

/// The system has run out of a resource that any file needs: file descriptors, memory, threads. The next file would
/// fail too.
constexpr bool says_exhausted(int code) noexcept {
    return code == EMFILE || code == ENFILE || code == ENOMEM || code == EAGAIN || code == ENOBUFS;
}

}  // namespace quern
