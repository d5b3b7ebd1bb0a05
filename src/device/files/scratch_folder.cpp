// SPDX-License-Identifier: Apache-2.0
#include "device/files/scratch_folder.hpp"

#include <system_error>

#include "device/files/temporary.hpp"
#include "quern/base/error.hpp"

namespace quern {
namespace {
// Hidden, so that no walk over a corpus takes what is spilled for documents.
constexpr std::string_view prefix = ".quern-scratch-";
}  // namespace

scratch_folder::scratch_folder(const context& run) {
    std::error_code failure;
    const auto base = std::filesystem::absolute(run.scratch_folder(), failure);
    if (!failure) std::filesystem::create_directories(base, failure);
    if (failure)
        throw io_error(run.scratch_folder().string(), "cannot create the folder for temporary files",
                       failure.value());
    remove_stale_temporaries(base, prefix);
    auto fresh = make_temporary_folder(base, prefix);
    path_ = std::move(fresh.path);
    lock_ = std::move(fresh.handle);
}

scratch_folder::~scratch_folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
}

}  // namespace quern
