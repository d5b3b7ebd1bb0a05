// SPDX-License-Identifier: Apache-2.0
// A column of a Parquet file entry by entry, for readers that go through several columns row by row.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

#include "io/parquet/parquet_file.hpp"

namespace quern::io {

class parquet_entries {
  public:
    explicit parquet_entries(parquet::column_reader reader) : reader_(std::move(reader)) {}

    const parquet::leaf_column& leaf() const { return reader_.leaf(); }
    parquet::column_reader& reader() { return reader_; }
    const parquet::column_reader& reader() const { return reader_; }

    /// Whether there is another entry. Throws as column_reader::read() does; then the current page can be passed over.
    bool has_entry() {
        constexpr std::size_t batch_entries = 512;
        if (at_ != batch_.entries) return true;
        at_ = value_ = 0;
        batch_.entries = 0;
        return reader_.read(batch_, batch_entries) != 0;
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
        rows_ += repetition() == 0 ? 1 : 0;
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
    /// Passes over the rest of a page that cannot be read, up to row number `rows`.
    void lose_page(std::uint64_t rows) {
        at_ = value_ = batch_.entries = 0;
        reader_.skip_page();
        rows_ = rows;
    }
    /// Whether has_entry() will read from a page.
    bool reads_next() const { return at_ == batch_.entries; }

  private:
    parquet::column_reader reader_;
    parquet::column_batch batch_;
    std::size_t at_ = 0, value_ = 0;
    std::uint64_t rows_ = 0;
};

}  // namespace quern::io
