// SPDX-License-Identifier: Apache-2.0
// One file of a folder of kept documents, with the size and the checksum of what was written.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "base/hash_stream.hpp"
#include "device/files/file_writer.hpp"
#include "io/compression/gzip_writer.hpp"
#include "io/compression/zstd_writer.hpp"
#include "quern/base/context.hpp"

namespace quern {

struct written_file {
    std::uint64_t bytes = 0;
    std::string checksum;  ///< XXH3-128, as `xxh128sum` prints it
};

/// Reads a file. Throws io_error.
written_file describe_written(const std::filesystem::path& path, const context& ctx);

class kept_output {
  public:
    enum class form { by_name, as_it_is };
    /// by_name: compresses what it is given if the name ends in .gz or .zst. Throws io_error.
    kept_output(const std::filesystem::path& path, form how, const context& ctx);
    kept_output(const kept_output&) = delete;  // the writers point into it
    kept_output& operator=(const kept_output&) = delete;
    ~kept_output() = default;

    void append(std::string_view bytes);
    std::uint64_t size() const {
        return file_.size();
    }  ///< of the file, what waits for compression not included
    written_file close();

  private:
    file_writer file_;
    hash128_stream checksum_;
    std::optional<io::gzip_writer> gzip_;
    std::optional<io::zstd_writer> zstd_;
};

}  // namespace quern
