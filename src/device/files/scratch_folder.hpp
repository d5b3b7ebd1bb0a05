// SPDX-License-Identifier: Apache-2.0
// A folder for spilled runs, gone when its owner is.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string_view>

#include "device/files/descriptor.hpp"
#include "quern/base/context.hpp"

namespace quern {

/// A private folder (`.quern-scratch-xxxxxx`) under the run's scratch folder, removed with all it holds by the
/// destructor. What a killed process left there is removed by the next one.
class scratch_folder {
  public:
    /// Creates the run's scratch folder itself where it is missing; throws io_error where that fails.
    explicit scratch_folder(const context& ctx);
    scratch_folder(const scratch_folder&) = delete;  // one owner removes it
    scratch_folder& operator=(const scratch_folder&) = delete;
    ~scratch_folder();

    const std::filesystem::path& path() const noexcept { return path_; }
    std::filesystem::path file(std::string_view name) const { return path_ / name; }

    /// Counts bytes that are to be written here, once what was counted before is written. Throws io_error, and counts
    /// nothing, where the run's scratch_bytes (EDQUOT) or the disk (ENOSPC) have less left. One thread at a time.
    void take(std::uint64_t bytes);
    /// The disk has their room back.
    void give_back(std::uint64_t bytes) noexcept { taken_ -= bytes; }

  private:
    std::filesystem::path path_;
    descriptor lock_;
    std::uint64_t limit_, taken_ = 0;
};

}  // namespace quern
