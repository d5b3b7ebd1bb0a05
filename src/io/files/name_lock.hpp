// SPDX-License-Identifier: Apache-2.0
// The right to write to a name: one holder at a time on this machine, across processes.
#pragma once

#include <filesystem>

#include "device/files/descriptor.hpp"
#include "quern/base/error.hpp"

namespace quern::io {

/// Another holder is writing there.
class name_in_use : public usage_error {
  public:
    using usage_error::usage_error;
};

/// Held from constructor to destructor, by a locked file `.NAME.quern-lock` next to the name. The kernel drops the lock
/// however its owner ends; the next owner reuses the file that a killed one leaves. File systems without locks are
/// accepted: nothing is refused there.
class name_lock {
  public:
    /// Throws name_in_use if another one is held for `path`, io_error if none can be created. Does not wait.
    explicit name_lock(const std::filesystem::path& path);
    name_lock(const name_lock&) = delete;  // one owner removes the file
    name_lock& operator=(const name_lock&) = delete;
    ~name_lock();

  private:
    std::filesystem::path file_;
    descriptor handle_;
};

}  // namespace quern::io
