// SPDX-License-Identifier: Apache-2.0
#include "device/files/possible_name.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "device/files/descriptor.hpp"
#include "quern/base/error.hpp"

namespace quern {

void require_writable_folder(const std::filesystem::path& folder) {
    require_folder(folder);
    if (::faccessat(AT_FDCWD, folder.c_str(), W_OK | X_OK, AT_EACCESS) != 0)
        throw io_error(folder.string(), "cannot write in this folder", errno);
}

void require_possible_name(const std::filesystem::path& path, int code) {
    switch (code) {
        case ENOENT:
        case ENOTDIR:  // what is wrong with the folder is found there
            return;
        case ENAMETOOLONG:
            throw usage_error(path.string() + ": the name is longer than the file system allows");
        case ELOOP:
            throw usage_error(path.string() + ": a symbolic link that leads to itself");
        default:
            throw io_error(path.string(), "cannot look there", code);
    }
}

}  // namespace quern
