// SPDX-License-Identifier: Apache-2.0
// Where the units of a Parquet file begin and end: rows of a row group, as many as make up a unit's bytes.
//
// Pages of the columns do not end at the same rows. A column is passed over by its page headers alone where these say how many
// rows and bytes there are. Where a few bytes may become many (dictionaries, values that begin as the one before, lists), the
// lengths are decoded, so that no unit becomes larger than it should.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "io/parquet/parquet_file.hpp"
#include "quern/base/context.hpp"

namespace quern::io {

/// Consecutive rows of a row group.
struct parquet_rows {
    std::size_t group = 0;
    std::uint64_t first = 0, count = 0;           ///< in the group
    std::uint64_t bytes = 0;                      ///< about, decompressed
    std::vector<parquet::column_reader> columns;  ///< each at the first row
    /// Damage after these rows, or in place of them: why the rest of the group is lost, and how many rows that is.
    std::optional<std::string> damage;
    std::uint64_t lost = 0;
};

class parquet_cutter {
  public:
    struct limits {
        std::uint64_t unit_bytes = 0;
        std::uint64_t row_bytes = 0;        ///< a row's, in addition to its values
        std::uint64_t memory = UINT64_MAX;  ///< for pages that are looked into
    };
    /// `leaves`: those to be read; one may occur twice.
    parquet_cutter(std::shared_ptr<const parquet::parquet_file> file, std::vector<std::size_t> leaves,
                   const limits& limit);

    /// The next rows, or nothing at the end of the file. Throws interrupted.
    std::optional<parquet_rows> next(const context& ctx);
    std::uint64_t rows_done() const { return rows_done_; }

  private:
    /// A column on its way through the group.
    class lane {
      public:
        explicit lane(const parquet::column_reader& reader) : at_(reader), ahead_(reader) {}

        /// How many of the next rows have known weights, 1 at least; up to `max`. Throws as column_reader does.
        std::uint64_t look(std::uint64_t max, std::uint64_t memory);
        /// Of a row among these.
        std::uint64_t weight(std::size_t row) const {
            return is_constant_ ? constant_ : rows_[next_ + row].bytes;
        }
        bool is_constant() const { return is_constant_; }
        void pass(std::uint64_t rows);
        const parquet::column_reader& reader() const { return at_; }
        std::uint64_t memory_bytes() const { return ahead_.memory_bytes(); }

      private:
        struct measured_row {
            std::uint64_t bytes = 0, entries = 0;
        };
        bool is_measured();
        void measure();
        void measure_lists();

        parquet::column_reader at_;     ///< at the next row
        parquet::column_reader ahead_;  ///< where measuring goes on
        parquet::column_batch batch_;
        std::vector<measured_row> rows_;  ///< from next_ on those that are measured and not passed
        std::size_t next_ = 0;
        measured_row begun_;  ///< a row of lists whose end is not known yet
        bool is_begun_ = false, is_constant_ = false, at_end_ = false;
        std::uint64_t constant_ = 0;
    };

    bool begin_group();
    void take_rows(parquet_rows& made, const context& ctx);

    std::shared_ptr<const parquet::parquet_file> file_;
    std::vector<std::size_t> leaves_;
    limits limit_;
    std::size_t group_ = 0;  ///< the next one
    std::uint64_t row_ = 0;  ///< of the current group
    std::uint64_t rows_left_ = 0;
    std::uint64_t rows_done_ = 0;
    std::vector<lane> lanes_;
};

}  // namespace quern::io
