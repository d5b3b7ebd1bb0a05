// SPDX-License-Identifier: Apache-2.0
// The columns of a Parquet file for each part of a document.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "io/parquet/metadata.hpp"
#include "quern/base/document_fields.hpp"

namespace quern::io {

struct parquet_columns {
    static constexpr std::size_t absent = SIZE_MAX;

    /// Of the file; chosen columns of bytes that are not said to be strings have become strings.
    parquet::schema columns;
    std::size_t id = absent, title = absent, links = absent;  ///< leaves
    std::vector<std::size_t> text;                            ///< leaves; at least one
    bool id_is_chosen = false;                                ///< by name: a row without it is rejected

    /// Columns that become members of a JSON object: leaves and groups.
    struct member {
        std::string name;
        std::uint32_t node = 0;
    };
    std::vector<member> kept;  ///< for document_fields::kept
    std::vector<member> all;   ///< the columns of the file that have a form in JSON
    /// Columns without such a form, bytes for example, that `kept` asks for.
    std::vector<std::string> unkept;
};

/// By the names chosen in `fields`, or the known ones (field_names.hpp). Throws invalid_input, naming `file`, the column
/// and the columns that there are, if a chosen column or every text is missing, or a column has not the type it needs.
parquet_columns choose_columns(parquet::schema columns, const document_fields& fields,
                               const std::string& file);

/// Whether values of a leaf can be text: strings, and bytes that are not said to be anything else.
bool holds_text(const parquet::schema& columns, const parquet::leaf_column& leaf);

/// "int64", "list of groups", for messages.
std::string type_in_words(const parquet::schema& columns, std::uint32_t node);

}  // namespace quern::io
