// SPDX-License-Identifier: Apache-2.0
// The footer of a Parquet file: its columns, and where their values lie (github.com/apache/parquet-format).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace quern::io::parquet {

/// The values are those of the format.
enum class physical_type : std::uint8_t {
    boolean = 0,
    int32 = 1,
    int64 = 2,
    int96 = 3,
    float32 = 4,
    float64 = 5,
    byte_array = 6,
    fixed_bytes = 7
};

/// The meaning of the values of a column, or a group of columns: the format's logical types, and the older "converted"
/// ones.
enum class meaning : std::uint8_t {
    none,
    nothing,  ///< only nulls
    text,     ///< UTF-8; names of an enumeration too
    json,
    decimal,
    date,
    time,
    timestamp,
    integer,  ///< with bits and sign
    uuid,
    float16,
    list,
    map,
    other  ///< known or unknown, without a form in text: intervals, BSON, geometry
};

enum class time_unit : std::uint8_t { milliseconds, microseconds, nanoseconds };

struct logical_type {
    meaning what = meaning::none;
    std::int32_t scale = 0, precision = 0;  ///< of decimals
    time_unit unit = time_unit::milliseconds;
    bool is_utc = false;  ///< of times: adjusted to UTC; otherwise local to an unknown place
    std::uint8_t bits = 0;
    bool is_signed = true;
};

enum class repetition : std::uint8_t { required = 0, optional = 1, repeated = 2 };

/// A node of the schema. The first is the root; children follow their parent, each before the next sibling.
struct schema_node {
    static constexpr std::uint32_t no_leaf = UINT32_MAX;

    std::string name;
    repetition repeats = repetition::required;
    logical_type means;
    std::uint32_t parent = 0;
    std::vector<std::uint32_t> children;
    std::uint32_t leaf = no_leaf;  ///< its number among the leaves; none: a group
    /// Definition level at which it is present, and repetition level of its own repetitions.
    std::uint16_t definition = 0, repetition_level = 0;
};

/// A column with values.
struct leaf_column {
    std::uint32_t node = 0;
    physical_type type = physical_type::boolean;
    std::uint32_t width = 0;  ///< bytes of a value in memory; 0: they differ (byte_array)
    std::uint16_t max_definition = 0, max_repetition = 0;
};

struct schema {
    std::vector<schema_node> nodes;
    std::vector<leaf_column> leaves;

    /// "meta.url" for a leaf or group within groups.
    std::string path_of(std::uint32_t node) const;
};

/// The values are those of the format.
enum class codec : std::uint8_t {
    none = 0,
    snappy = 1,
    gzip = 2,
    lzo = 3,
    brotli = 4,
    lz4_framed = 5,
    zstd = 6,
    lz4_raw = 7
};
/// "zstd"; for an unknown one its number.
std::string name_of(codec which);

/// The values of one leaf in one row group.
struct column_chunk {
    codec compression = codec::none;
    bool encrypted = false, elsewhere = false;  ///< elsewhere: in another file
    std::uint64_t values = 0;                   ///< nulls and empty lists included
    std::uint64_t begin = 0;                    ///< of its first page, the dictionary if it has one
    std::uint64_t packed_bytes = 0;             ///< of its pages, as the writer says; not relied upon
};

struct row_group {
    std::uint64_t rows = 0;
    std::uint64_t first_row = 0;       ///< of the file, from 0
    std::vector<column_chunk> chunks;  ///< one for each leaf
};

struct file_metadata {
    schema columns;
    std::vector<row_group> groups;
    std::uint64_t rows = 0;
    std::vector<std::pair<std::string, std::string>> key_values;
    std::string_view
        schema_bytes;  ///< the list of schema elements as it lies in the file (Thrift), for a copy
    std::string created_by;
};

/// Parses the footer without its length and magic. Throws fault, and out_of_memory beyond `max_bytes`.
file_metadata parse_metadata(std::string_view footer, std::uint64_t max_bytes);

/// The values are those of the format.
enum class encoding : std::uint8_t {
    plain = 0,
    plain_dictionary = 2,
    rle = 3,
    bit_packed = 4,
    delta_binary_packed = 5,
    delta_length_byte_array = 6,
    delta_byte_array = 7,
    rle_dictionary = 8,
    byte_stream_split = 9
};

struct page_header {
    enum class kind : std::uint8_t { data = 0, index = 1, dictionary = 2, data_v2 = 3 } what = kind::index;
    std::uint32_t plain_bytes = 0, packed_bytes = 0;
    bool has_checksum = false;
    std::uint32_t checksum = 0;  ///< CRC-32 of the packed bytes
    std::uint32_t values = 0;    ///< nulls included; of a dictionary: entries
    encoding encoded = encoding::plain;
    encoding definition_encoded = encoding::rle, repetition_encoded = encoding::rle;
    // Version 2 only.
    std::uint32_t rows = 0, definition_bytes = 0, repetition_bytes = 0;
    bool is_packed = true;
};

/// Parses a header at the beginning of `bytes`; `size` is set to its length. Throws fault.
page_header parse_page_header(std::string_view bytes, std::size_t& size);

}  // namespace quern::io::parquet
