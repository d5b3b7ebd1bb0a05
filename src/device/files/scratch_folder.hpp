// SPDX-License-Identifier: Apache-2.0
// A folder for spilled runs, removed with its owner.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string_view>

#include "device/files/descriptor.hpp"
#include "quern/base/context.hpp"

namespace quern {

/// A private folder (`.quern-scratch-xxxxxx`) under the run's scratch folder, removed with its contents by the
/// destructor. Leftovers of a killed process are removed by the next one.
class scratch_folder {
  public:
    /// Creates the run's scratch folder itself if it is missing; throws io_error if that fails.
    explicit scratch_folder(const context& ctx);
    scratch_folder(const scratch_folder&) = delete;  // one owner removes it
    scratch_folder& operator=(const scratch_folder&) = delete;
    ~scratch_folder();

    const std::filesystem::path& path() const noexcept { return path_; }
    std::filesystem::path file(std::string_view name) const { return path_ / name; }

    /// Reserves bytes to be written here; all earlier reservations must have been written. Throws io_error, and
    /// reserves nothing, if the run's scratch_bytes (EDQUOT) or the disk (ENOSPC) have less left. One thread at a time.
    void take(std::uint64_t bytes);
    /// Returns them to the limit, after the file is removed.
    void give_back(std::uint64_t bytes) noexcept { taken_ -= bytes; }

  private:
    std::filesystem::path path_;
    descriptor lock_;
    std::uint64_t limit_, taken_ = 0;
};

}  // namespace quern
