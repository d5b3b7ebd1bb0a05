// SPDX-License-Identifier: Apache-2.0
// Reads columns of texts from Arrow, without a copy.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "arrow_interface.hpp"

namespace quern::python {

/// The names and types of a stream's columns.
class arrow_schema {
  public:
    explicit arrow_schema(ArrowSchema taken) : schema_(taken) {}
    ~arrow_schema();
    arrow_schema(const arrow_schema&) = delete;
    arrow_schema& operator=(const arrow_schema&) = delete;

    /// Whether it has columns; else it is a single one without a name.
    bool is_table() const;
    std::vector<std::string> names() const;
    const ArrowSchema& column(std::size_t position) const;

  private:
    ArrowSchema schema_;
};

/// One column of a batch, as texts: string, large_string, string_view, dictionaries of these, whole numbers as decimals,
/// and nulls only. Texts are valid as long as the batch and until the next number is read. A column of another type may
/// have nulls and no values: libraries give a column without values any type.
class arrow_texts {
  public:
    arrow_texts(const ArrowSchema& schema, const std::string& name);
    void set_batch(const ArrowArray& column, std::int64_t offset_of_parent);
    /// Of a table: its column at a position. A null row of the batch is a null of the column.
    void set_column(const ArrowArray& batch, std::size_t position);
    /// Nothing for a null. Throws usage_error, with the name of the column, for a value of another type.
    std::optional<std::string_view> at(std::int64_t row);

  private:
    enum class layout { text32, text64, view, dictionary, number, nulls, other };
    std::int64_t number_at(std::int64_t position) const;

    layout layout_ = layout::text32;
    char format_ = 0;  ///< of a number, or of the index of a dictionary
    std::unique_ptr<arrow_texts> dictionary_;
    const ArrowArray* column_ = nullptr;
    const ArrowArray* parent_ = nullptr;  ///< that has nulls, else null
    std::int64_t offset_ = 0;
    std::string decimal_;
    std::string refusal_;  ///< of another type
    bool has_validity_bits_ = true;
};

}  // namespace quern::python
