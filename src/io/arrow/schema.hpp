// SPDX-License-Identifier: Apache-2.0
// The columns of an Arrow file: its fields as they lie in record batches, and the same columns as those of a Parquet file, so
// that whatever reads documents out of columns reads both.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "io/arrow/flat_buffer.hpp"
#include "io/parquet/metadata.hpp"

namespace quern::io::arrow {

/// How the values of a field lie in buffers.
enum class layout : std::uint8_t {
    nothing,     ///< only nulls, no buffers
    bits,        ///< booleans
    fixed,       ///< values of equal width
    texts,       ///< offsets and bytes
    views,       ///< lengths, with the bytes or where they are
    group,       ///< of fields: a struct
    list,        ///< offsets into the elements
    fixed_list,  ///< lists of equal length
    unread       ///< a type that is not read; only its buffers are counted
};

/// The conversion of a stored value to a value of a column.
enum class conversion : std::uint8_t {
    none,
    to_int32,           ///< of 8 or 16 bits with sign
    to_uint32,          ///< without
    days,               ///< milliseconds to days
    seconds,            ///< to milliseconds
    from_little_endian  ///< decimals: the highest byte first
};

struct field {
    std::string name;
    layout how = layout::unread;
    conversion converts = conversion::none;
    std::uint32_t width = 0;  ///< stored bytes of a value; of a fixed list: its elements; of offsets: 4 or 8
    // In a record batch: the first node and buffer of the field, not counting the buffers of the bytes of views, and how many
    // fields of views come before it.
    std::uint32_t node = 0, buffer = 0, views_before = 0;
    bool is_part = false;  ///< of a list or group
    std::vector<std::uint32_t> children = {};

    struct keys {
        std::int64_t dictionary = 0;
        std::uint32_t width = 4;
        bool is_signed = true;
    };
    std::optional<keys> encoded = {};  ///< the values are entries of a dictionary, which has the layout
};

struct arrow_schema {
    parquet::schema columns;
    std::vector<field> fields;  ///< parents before their children
    /// Of each leaf of `columns`: the fields from the outermost to the one with the values. Of a map, without the group of
    /// its keys and values.
    std::vector<std::vector<std::uint32_t>> paths;
    std::uint32_t nodes = 0, buffers = 0, views = 0;  ///< of a record batch
};

/// From the table Schema of a message or footer. `metadata_bytes`: their length, for a limit of the number of fields.
/// Throws fault, and out_of_memory if it needs more than `max_bytes`.
arrow_schema parse_schema(const flat_table& schema, bool unions_have_validity, std::uint64_t metadata_bytes,
                          std::uint64_t max_bytes);

}  // namespace quern::io::arrow
