// SPDX-License-Identifier: Apache-2.0
// Values of Parquet columns as JSON: numbers exactly as they are, dates and times by ISO 8601.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "io/parquet/metadata.hpp"

namespace quern::io {

/// Whether a column, or some column of a group, has a form in JSON: bytes, intervals and geometry have none.
bool has_json_form(const parquet::schema& columns, std::uint32_t node);

/// Appends a value of a leaf with such a form. What JSON cannot express (not a number, infinity) becomes null.
void append_json_value(std::string& out, const parquet::schema_node& node, const parquet::leaf_column& leaf,
                       std::string_view value);

}  // namespace quern::io
