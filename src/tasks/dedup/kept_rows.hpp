// SPDX-License-Identifier: Apache-2.0
// The kept rows of Parquet files. A document of such a file is identified by the number of its row; rows are copied
// from the file, which must not have changed since it was read.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "device/files/spill_file.hpp"
#include "io/parquet/row_writer.hpp"
#include "quern/base/context.hpp"
#include "quern/base/document.hpp"

namespace quern {

/// A version of a file on the disk.
struct file_state {
    std::uint64_t device = 0, number = 0, bytes = 0;
    std::int64_t seconds = 0, nanoseconds = 0;
    friend bool operator==(const file_state&, const file_state&) = default;
};
file_state state_of(const std::string& path);
/// Throws invalid_input if the file is not the one of this state.
void refuse_changed(const std::string& path, const file_state& state);

/// Whether a regular file begins as Parquet files do.
bool is_parquet(const std::string& path);
/// Whether it is one whose columns and row groups are known.
bool has_rows(const std::string& path, const context& ctx);

/// The row of a document of such a file, from 0, as eight bytes; and back.
std::string row_record(const document& d);
std::uint64_t row_of(std::string_view record);

/// Some rows of one file. Memory: a bit for each row.
class kept_rows {
  public:
    explicit kept_rows(const context& ctx) : ctx_(ctx) {}
    void take(std::uint64_t row);
    /// Throws what row_writer::append throws, and io_error.
    void write(const std::string& path, io::parquet::row_writer& to) const;

  private:
    const context& ctx_;
    std::vector<bool> rows_;
};

/// The documents of a corpus of Parquet files, for one file with the kept ones.
class row_file {
  public:
    explicit row_file(const std::filesystem::path& scratch_file) : numbers_(scratch_file) {}
    /// The next document. Memory: 100 bytes and the path for each file. Throws usage_error if it is not of a Parquet file,
    /// or of one with another schema than the first.
    void append(const document& d, const context& ctx);
    /// Writes a Parquet file with the documents for which wanted(i) is true. Throws invalid_input if a file was changed.
    void write(const std::function<bool(std::size_t)>& wanted,
               const std::function<void(std::string_view)>& out, const context& ctx);

  private:
    struct source {
        std::string path;
        std::uint32_t scope = 0;
        std::size_t first = 0;  ///< document
        file_state state;
    };
    spill_file numbers_;
    std::vector<source> files_;
    std::size_t documents_ = 0;
    std::string schema_;  ///< of the first file
};

}  // namespace quern
