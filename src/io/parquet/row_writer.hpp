// SPDX-License-Identifier: Apache-2.0
// A Parquet file with some rows of others: the same schema, whatever is in it, the same metadata of its writer (of Arrow,
// pandas, Hugging Face), the same values and nulls. Columns are copied one at a time as levels and values, and never become
// records, so that no type is unknown. Pages are PLAIN, compressed as in the input; statistics and indexes are not
// copied, because they would be of other rows.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "io/parquet/parquet_file.hpp"
#include "quern/base/context.hpp"

namespace quern::io::parquet {

class row_writer {
  public:
    using sink = std::function<void(std::string_view)>;
    /// The file goes to `out`, front to back. Memory: two pages, of about a MiB or one value, and what column_reader needs.
    row_writer(sink out, const context& ctx) : out_(std::move(out)), ctx_(ctx) {}

    /// Adds the rows of a file whose numbers, from 0, are `wanted`, in groups of about the size of the file's. Throws usage_error if the first file had another schema,
    /// invalid_input if the file is damaged, interrupted.
    void append(const std::shared_ptr<const parquet_file>& file, const std::vector<bool>& wanted);
    /// Ends the file. Throws usage_error if no file was given.
    void finish();

  private:
    struct written_chunk {
        codec compression = codec::none;
        std::uint64_t begin = 0, values = 0, plain_bytes = 0, packed_bytes = 0;
    };
    struct written_group {
        std::uint64_t rows = 0;
        std::vector<written_chunk> chunks;
    };
    class page_writer;

    void begin(const std::shared_ptr<const parquet_file>& file);
    void write(std::string_view bytes);
    void write_group(const std::shared_ptr<const parquet_file>& file, std::size_t first, std::size_t last,
                     std::uint64_t rows, const std::vector<bool>& wanted);
    void write_leaf(const std::shared_ptr<const parquet_file>& file, std::size_t group, std::size_t leaf,
                    const std::vector<bool>& wanted, page_writer& pages);

    sink out_;
    const context& ctx_;
    std::shared_ptr<const parquet_file> first_;  ///< its schema and metadata are those of the result
    std::uint64_t at_ = 0, rows_ = 0;
    std::vector<written_group> groups_;
};

}  // namespace quern::io::parquet
