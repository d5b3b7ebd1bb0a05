// SPDX-License-Identifier: Apache-2.0
// Checksums of the inputs and results of a job: XXH3 of the bytes or, of a file longer than a piece of 64 MiB, XXH3 of the checksums
// of its pieces, so that threads share large files, too.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "quern/base/context.hpp"
#include "tasks/shared/file_checksum.hpp"

namespace quern::job_files {

inline constexpr std::uint64_t checksum_piece = std::uint64_t{64} << 20;

/// Of bytes that arrive one after the other.
class job_checksum {
  public:
    void add(std::string_view bytes);
    std::uint64_t value() const;

  private:
    running_checksum piece_;            ///< the bytes of the last one
    std::uint64_t in_piece_ = 0;        ///< how many
    std::vector<std::uint64_t> whole_;  ///< checksums of the pieces before
};

/// Of each file, which all threads read. Throws io_error, interrupted.
std::vector<std::uint64_t> checksums_of_files(std::span<const std::filesystem::path> files,
                                              const context& ctx);

}  // namespace quern::job_files
