// SPDX-License-Identifier: Apache-2.0
#include "device/files/scratch_folder.hpp"

#include <cerrno>
#include <cstdint>
#include <string>
#include <system_error>

#include "device/files/temporary.hpp"
#include "quern/base/error.hpp"

namespace quern {
namespace {
// Hidden, so that no walk over a corpus reads spilled data as documents.
constexpr std::string_view prefix = ".quern-scratch-";
}  // namespace

scratch_folder::scratch_folder(const context& ctx)
    : limit_(ctx.scratch_bytes != 0 ? ctx.scratch_bytes : UINT64_MAX) {
    std::error_code failure;
    const auto base = std::filesystem::absolute(ctx.scratch_folder(), failure);
    if (!failure) std::filesystem::create_directories(base, failure);
    if (failure)
        throw io_error(ctx.scratch_folder().string(), "cannot create the folder for temporary files",
                       failure.value());
    remove_stale_temporaries(base, prefix);
    auto fresh = make_temporary_folder(base, prefix);
    path_ = std::move(fresh.path);
    lock_ = std::move(fresh.handle);
}

void scratch_folder::take(std::uint64_t bytes) {
    const auto refuse = [&](std::uint64_t left, std::string_view whose, int code) {
        throw io_error(path_.parent_path().string(),
                       "cannot spill " + std::to_string(bytes) + " bytes in addition to " +
                           std::to_string(taken_) + " already spilled, " + std::to_string(left) +
                           std::string(whose),
                       code);
    };
    if (bytes > limit_ - taken_) refuse(limit_, " are allowed in all", EDQUOT);
    std::error_code unknown;  // then writing reports a full disk
    const auto space = std::filesystem::space(path_, unknown);
    if (!unknown && bytes > space.available) refuse(space.available, " are free", ENOSPC);
    taken_ += bytes;
}

scratch_folder::~scratch_folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
}

}  // namespace quern
