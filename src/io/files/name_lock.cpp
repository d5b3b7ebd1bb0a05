// SPDX-License-Identifier: Apache-2.0
#include "io/files/name_lock.hpp"

#include <string>
#include <system_error>

#include "device/files/temporary.hpp"

namespace quern::io {

namespace fs = std::filesystem;

name_lock::name_lock(const fs::path& path)
    : file_(parent_of(path) / (temporary_prefix(path) + "lock")), handle_(lock_file(file_)) {
    if (!handle_.is_open()) throw name_in_use("another build of " + path.string() + " is in progress");
}

name_lock::~name_lock() {
    // Removed while it is still locked: a process that opened it meanwhile sees that its name is gone, and creates
    // another.
    std::error_code ignored;
    fs::remove(file_, ignored);
}

}  // namespace quern::io
