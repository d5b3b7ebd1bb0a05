// SPDX-License-Identifier: Apache-2.0
#include "io/files/resumable_folder.hpp"

#include <sys/stat.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include "device/files/temporary.hpp"
#include "io/files/atomic_folder.hpp"
#include "quern/base/error.hpp"

namespace quern::io {

namespace fs = std::filesystem;

resumable_folder::resumable_folder(const fs::path& path, existing policy, const judge& goes_on)
    : path_(detail::settled(path)), policy_(policy) {
    detail::begin(path_, policy_);
    const fs::path parent = parent_of(path_);
    const std::string prefix = temporary_prefix(path_);
    auto left = take_over_temporary(parent, prefix, [&](const fs::path& notes) {
        std::error_code unseen;
        return fs::is_directory(fs::symlink_status(notes / inner_name, unseen)) &&
               goes_on(notes / inner_name, notes);
    });
    const bool exists_at = left.has_value();
    if (!exists_at) left = make_temporary_folder(parent, prefix);
    notes_ = std::move(left->path);
    lock_ = std::move(left->handle);
    if (exists_at || ::mkdir(folder().c_str(), 0777) == 0) return;
    const io_error failed(folder().string(), "cannot create", errno);
    std::error_code ignored;
    fs::remove_all(notes_, ignored);
    throw failed;
}

resumable_folder::~resumable_folder() {
    std::error_code ignored;
    if (!notes_.empty() && !kept_) fs::remove_all(notes_, ignored);
}

void resumable_folder::commit() {
    if (notes_.empty()) return;
    detail::publish(folder(), path_, policy_);
    const fs::path notes = std::exchange(notes_, {});  // it has its name, whatever fails now
    const detail::removed_at_end last(notes);
    confirm_name(path_);
}

}  // namespace quern::io
