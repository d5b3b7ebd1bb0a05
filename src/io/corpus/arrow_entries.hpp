// SPDX-License-Identifier: Apache-2.0
// Columns of an Arrow record batch as entries: levels and values, as Parquet has them.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "io/arrow/record_batch.hpp"
#include "io/arrow/schema.hpp"
#include "io/corpus/column_entries.hpp"

namespace quern::io {

/// One leaf of some consecutive rows. The schema must outlive it.
class arrow_entries final : public entry_source {
  public:
    /// `arrays`: loaded for the leaf. `max_bytes`: for the entries of one row.
    arrow_entries(const arrow::arrow_schema& schema, std::shared_ptr<const std::vector<arrow::array>> arrays,
                  std::size_t leaf, std::uint64_t first, std::uint64_t count, std::uint64_t max_bytes);

    const parquet::leaf_column& leaf() const override { return leaf_; }
    /// Whole rows. One with too many entries becomes a null.
    std::size_t read(parquet::column_batch& out, std::size_t max) override;
    /// Throws out_of_memory if a row, of those that were read, has too many entries. Rows are asked for in their order.
    void require_whole(std::uint64_t row);

  private:
    bool add(parquet::column_batch& out, std::size_t step, std::uint64_t at, std::uint16_t repetition,
             std::uint16_t definition, std::uint16_t lists);
    bool add_missing(parquet::column_batch& out, std::uint16_t repetition, std::uint16_t definition);
    bool add_leaf(parquet::column_batch& out, const arrow::field& its, const arrow::array& values,
                  std::uint64_t at, std::uint16_t repetition, std::uint16_t definition);
    void add_value(parquet::column_batch& out, const arrow::field& its, const arrow::array& values,
                   std::uint64_t at) const;

    const arrow::arrow_schema& schema_;
    std::shared_ptr<const std::vector<arrow::array>> arrays_;
    parquet::leaf_column leaf_;
    std::vector<std::uint32_t> path_;
    std::uint64_t next_, end_, max_bytes_;
    std::size_t row_begin_ = 0;  ///< of the row that is added
    std::deque<std::uint64_t> too_large_rows_ = {};
};

/// The weight of rows, for units of about equal size: the approximate size of their documents.
class arrow_weights {
  public:
    /// Of leaves whose fields are loaded in `arrays`.
    arrow_weights(const arrow::arrow_schema& schema, std::shared_ptr<const std::vector<arrow::array>> arrays,
                  const std::vector<std::size_t>& leaves, std::uint64_t rows, std::uint64_t row_bytes);

    std::uint64_t of(std::uint64_t row) const {
        std::uint64_t bytes = same_;
        for (const std::uint32_t number : texts_) bytes += text_bytes(number, row);
        return bytes;
    }

  private:
    std::uint64_t text_bytes(std::uint32_t number, std::uint64_t row) const;

    const arrow::arrow_schema& schema_;
    std::shared_ptr<const std::vector<arrow::array>> arrays_;
    std::vector<std::uint32_t> texts_;  ///< fields of texts outside of lists and groups
    std::uint64_t same_;                ///< of all other columns, in the mean
};

}  // namespace quern::io
