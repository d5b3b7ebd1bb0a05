// SPDX-License-Identifier: Apache-2.0
// A folder for spilled runs, gone when its owner is.
#pragma once

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
    explicit scratch_folder(const context& run);
    scratch_folder(const scratch_folder&) = delete;  // one owner removes it
    scratch_folder& operator=(const scratch_folder&) = delete;
    ~scratch_folder();

    const std::filesystem::path& path() const noexcept { return path_; }
    std::filesystem::path file(std::string_view name) const { return path_ / name; }

  private:
    std::filesystem::path path_;
    descriptor lock_;
};

}  // namespace quern
