// SPDX-License-Identifier: Apache-2.0
// A column entry by entry, for readers that go through several columns row by row. Whatever file it is from, its entries are
// levels and values, as in Parquet.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>

#include "io/parquet/metadata.hpp"
#include "io/parquet/page_values.hpp"

namespace quern::io {

/// Where the entries come from.
class entry_source {
  public:
    virtual ~entry_source() = default;
    virtual const parquet::leaf_column& leaf() const = 0;
    /// Replaces `out` by the next entries, about `max`. Returns how many: 0 at the end.
    virtual std::size_t read(parquet::column_batch& out, std::size_t max) = 0;
};

class column_entries {
  public:
    explicit column_entries(std::unique_ptr<entry_source> source) : source_(std::move(source)) {}

    const parquet::leaf_column& leaf() const { return source_->leaf(); }

    /// Whether there is another entry. Throws as entry_source::read() does.
    bool has_entry() {
        constexpr std::size_t batch_entries = 512;
        if (at_ != batch_.entries) return true;
        at_ = value_ = 0;
        batch_.entries = 0;
        return source_->read(batch_, batch_entries) != 0;
    }
    // After has_entry():
    std::uint16_t repetition() const {
        return batch_.repetition.empty() ? std::uint16_t{0} : batch_.repetition[at_];
    }
    std::uint16_t definition() const {
        return batch_.definition.empty() ? leaf().max_definition : batch_.definition[at_];
    }
    bool has_value() const { return definition() == leaf().max_definition; }
    /// Its bytes: a text, or leaf().width bytes. Valid until the next has_entry().
    std::string_view value() const {
        const std::size_t width = leaf().width;
        return width == 0 ? batch_.texts[value_]
                          : std::string_view(batch_.fixed.data() + value_ * width, width);
    }
    void pass() {
        rows_ +=
            repetition() == 0 || rows_ == 0 ? 1 : 0;  // the first entry begins a row, even in a damaged file
        value_ += has_value() ? 1 : 0;
        ++at_;
    }
    /// How many rows were begun, those that were lost included.
    std::uint64_t rows() const { return rows_; }
    /// Passes over what is left of row number rows - 1.
    void finish_row(std::uint64_t rows) {
        if (rows_ < rows) pass();
        while (leaf().max_repetition != 0 && has_entry() && repetition() != 0) pass();
    }
    /// The source could not be read, and will go on at row number `rows`.
    void lose_rows(std::uint64_t rows) {
        at_ = value_ = batch_.entries = 0;
        rows_ = rows;
    }
    /// Whether has_entry() will read from the source.
    bool reads_next() const { return at_ == batch_.entries; }

  private:
    std::unique_ptr<entry_source> source_;
    parquet::column_batch batch_;
    std::size_t at_ = 0, value_ = 0;
    std::uint64_t rows_ = 0;
};

}  // namespace quern::io
