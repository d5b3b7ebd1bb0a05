// SPDX-License-Identifier: Apache-2.0
#include "io/parquet/metadata.hpp"

#include <algorithm>
#include <array>
#include <limits>

#include "io/parquet/thrift.hpp"
#include "quern/base/error.hpp"

namespace quern::io::parquet {
namespace {

/// Counts the memory of the metadata, which may be many times their bytes in the file.
class memory_count {
  public:
    explicit memory_count(std::uint64_t max) : max_(max) {}
    void add(std::uint64_t bytes) {
        used_ += bytes;
        if (used_ > max_) throw out_of_memory("the metadata of a Parquet file", used_, max_);
    }

  private:
    std::uint64_t max_, used_ = 0;
};

std::uint64_t natural(std::int64_t value) {
    if (value < 0) throw fault("a negative number");
    return static_cast<std::uint64_t>(value);
}

template <class Integer>
Integer within(std::int64_t value) {
    if (!std::in_range<Integer>(value)) throw fault("a number out of range");
    return static_cast<Integer>(value);
}

time_unit read_time_unit(thrift_reader& in, thrift_type type) {
    time_unit unit = time_unit::milliseconds;
    in.read_struct(type, [&](std::int64_t id, thrift_type) {
        if (id == 2) unit = time_unit::microseconds;
        if (id == 3) unit = time_unit::nanoseconds;
        return false;
    });
    return unit;
}

logical_type read_logical_type(thrift_reader& in, thrift_type type) {
    using enum meaning;
    constexpr std::array<meaning, 16> by_id = {none, text,  map,       list,   text,    decimal,
                                               date, time,  timestamp, other,  integer, nothing,
                                               json, other, uuid,      float16};
    logical_type result;
    in.read_struct(type, [&](std::int64_t id, thrift_type inner) {
        result.what = id >= 1 && id < static_cast<std::int64_t>(by_id.size())
                          ? by_id[static_cast<std::size_t>(id)]
                          : other;
        in.read_struct(inner, [&](std::int64_t part, thrift_type part_type) {
            if (result.what == decimal && part == 1) {
                result.scale = within<std::int32_t>(in.integer(part_type));
            } else if (result.what == decimal && part == 2) {
                result.precision = within<std::int32_t>(in.integer(part_type));
            } else if ((result.what == time || result.what == timestamp) && part == 1) {
                result.is_utc = thrift_reader::boolean(part_type);
            } else if ((result.what == time || result.what == timestamp) && part == 2) {
                result.unit = read_time_unit(in, part_type);
            } else if (result.what == integer && part == 1) {
                result.bits = within<std::uint8_t>(in.integer(part_type));
            } else if (result.what == integer && part == 2) {
                result.is_signed = thrift_reader::boolean(part_type);
            } else {
                return false;
            }
            return true;
        });
        return true;
    });
    return result;
}

/// Of files written before 2017 or so.
logical_type from_converted_type(std::int64_t code) {
    using enum meaning;
    constexpr std::array<meaning, 22> by_code = {
        text,    map,     map,     list,    text,    decimal, date,    time,    time, timestamp, timestamp,
        integer, integer, integer, integer, integer, integer, integer, integer, json, other,     other};
    if (code < 0 || code >= static_cast<std::int64_t>(by_code.size())) return {.what = other};
    logical_type result;
    result.what = by_code[static_cast<std::size_t>(code)];
    if (result.what == time || result.what == timestamp) {
        result.is_utc = true;
        result.unit = code % 2 == 1 ? time_unit::milliseconds : time_unit::microseconds;
    }
    if (result.what == integer) {
        result.is_signed = code >= 15;
        result.bits = static_cast<std::uint8_t>(8U << (static_cast<unsigned>(code - 11) % 4));
    }
    return result;
}

/// A schema element as it lies in the file.
struct element {
    schema_node node;
    bool has_type = false;
    physical_type type = physical_type::boolean;
    std::int64_t type_length = 0;
    std::uint64_t children = 0;
};

element read_element(thrift_reader& in, thrift_type type) {
    element result;
    logical_type converted;
    std::int32_t scale = 0, precision = 0;
    in.read_struct(type, [&](std::int64_t id, thrift_type field) {
        switch (id) {
            case 1: {
                const std::int64_t code = in.integer(field);
                if (code < 0 || code > 7) throw fault("a column of an unknown type");
                result.type = static_cast<physical_type>(code);
                result.has_type = true;
                return true;
            }
            case 2:
                result.type_length = in.integer(field);
                return true;
            case 3: {
                const std::int64_t code = in.integer(field);
                if (code < 0 || code > 2) throw fault("a column with an unknown repetition type");
                result.node.repeats = static_cast<repetition>(code);
                return true;
            }
            case 4:
                result.node.name = in.binary(field);
                return true;
            case 5:
                result.children = natural(in.integer(field));
                return true;
            case 6:
                converted = from_converted_type(in.integer(field));
                return true;
            case 7:
                scale = within<std::int32_t>(in.integer(field));
                return true;
            case 8:
                precision = within<std::int32_t>(in.integer(field));
                return true;
            case 10:
                result.node.means = read_logical_type(in, field);
                return true;
            default:
                return false;
        }
    });
    if (result.node.means.what == meaning::none) {
        result.node.means = converted;
        result.node.means.scale = scale;
        result.node.means.precision = precision;
    }
    return result;
}

std::uint32_t width_of(const element& made) {
    switch (made.type) {
        case physical_type::boolean:
            return 1;
        case physical_type::int32:
        case physical_type::float32:
            return 4;
        case physical_type::int64:
        case physical_type::float64:
            return 8;
        case physical_type::int96:
            return 12;
        case physical_type::byte_array:
            return 0;
        case physical_type::fixed_bytes:
            break;
    }
    if (made.type_length < 1 || made.type_length > INT32_MAX)
        throw fault("a column of values without a length");
    return static_cast<std::uint32_t>(made.type_length);
}

/// Puts elements, which come in depth-first order, under their parents.
class schema_builder {
  public:
    schema_builder(schema& made, memory_count& memory) : made_(made), memory_(memory) {}

    void add(element next) {
        constexpr std::size_t max_depth = 64;
        memory_.add(sizeof(schema_node) + sizeof(leaf_column) + sizeof(std::uint32_t) +
                    next.node.name.size());
        const auto number = static_cast<std::uint32_t>(made_.nodes.size());
        schema_node node = std::move(next.node);
        if (number == 0) {
            node.repeats = repetition::required;
        } else {
            while (!open_.empty() && open_.back().left == 0) open_.pop_back();
            if (open_.empty()) throw fault("the schema has more columns than it says");
            --open_.back().left;
            node.parent = open_.back().node;
            const schema_node& above = made_.nodes[node.parent];
            node.definition =
                static_cast<std::uint16_t>(above.definition + (node.repeats != repetition::required));
            node.repetition_level =
                static_cast<std::uint16_t>(above.repetition_level + (node.repeats == repetition::repeated));
            made_.nodes[node.parent].children.push_back(number);
        }
        if (next.has_type && next.children == 0 && number != 0) {
            node.leaf = static_cast<std::uint32_t>(made_.leaves.size());
            made_.leaves.push_back(
                {number, next.type, width_of(next), node.definition, node.repetition_level});
        } else {
            if (open_.size() >= max_depth) throw fault("the schema is nested too deeply");
            open_.push_back({number, next.children});
        }
        made_.nodes.push_back(std::move(node));
    }
    void finish() const {
        if (made_.nodes.empty()) throw fault("the schema is missing");
        if (std::ranges::any_of(open_, [](const parent& each) { return each.left != 0; }))
            throw fault("the schema has fewer columns than it says");
    }

  private:
    struct parent {
        std::uint32_t node;
        std::uint64_t left;
    };
    schema& made_;
    memory_count& memory_;
    std::vector<parent> open_;
};

void read_chunk_metadata(thrift_reader& in, thrift_type type, column_chunk& made) {
    std::uint64_t data = 0, dictionary = 0;
    in.read_struct(type, [&](std::int64_t id, thrift_type field) {
        switch (id) {
            case 4: {
                made.compression = static_cast<codec>(within<std::uint8_t>(in.integer(field)));
                return true;
            }
            case 5:
                made.values = natural(in.integer(field));
                return true;
            case 7:
                made.packed_bytes = natural(in.integer(field));
                return true;
            case 9:
                data = natural(in.integer(field));
                return true;
            case 11:  // some writers give 0 for none
                dictionary = natural(in.integer(field));
                return true;
            default:
                return false;
        }
    });
    made.begin = dictionary != 0 ? std::min(dictionary, data) : data;
}

column_chunk read_chunk(thrift_reader& in, thrift_type type) {
    column_chunk result;
    bool described = false;
    in.read_struct(type, [&](std::int64_t id, thrift_type field) {
        if (id == 1) result.elsewhere = !in.binary(field).empty();
        if (id == 3) read_chunk_metadata(in, field, result);
        described |= id == 3;
        result.encrypted |= id == 8 || id == 9;
        return id == 1 || id == 3;
    });
    if (!described && !result.encrypted) throw fault("a column has no metadata");
    return result;
}

row_group read_group(thrift_reader& in, thrift_type type, std::size_t leaves, memory_count& memory) {
    row_group result;
    in.read_struct(type, [&](std::int64_t id, thrift_type field) {
        if (id == 3) result.rows = natural(in.integer(field));
        if (id != 1) return id == 3;
        return in.read_list(
            field,
            [&](std::uint64_t count) {
                if (count != leaves) throw fault("a row group does not have the columns of the schema");
                memory.add(count * sizeof(column_chunk));
                result.chunks.reserve(count);
            },
            [&](thrift_type element) { result.chunks.push_back(read_chunk(in, element)); });
    });
    if (result.chunks.size() != leaves) throw fault("a row group does not have the columns of the schema");
    memory.add(sizeof(row_group));
    return result;
}

void read_key_value(thrift_reader& in, thrift_type type, file_metadata& made, memory_count& memory) {
    auto& [key, value] = made.key_values.emplace_back();
    in.read_struct(type, [&](std::int64_t id, thrift_type field) {
        if (id == 1) key = in.binary(field);
        if (id == 2) value = in.binary(field);
        return id == 1 || id == 2;
    });
    memory.add(2 * sizeof(made.key_values[0]) + key.size() + value.size());
}

void number_rows(file_metadata& made) {
    for (row_group& group : made.groups) {
        group.first_row = made.rows;
        if (group.rows > static_cast<std::uint64_t>(INT64_MAX) - made.rows)
            throw fault("more rows than a file can have");
        made.rows += group.rows;
    }
}

}  // namespace

std::string schema::path_of(std::uint32_t node) const {
    std::string path = nodes[node].name;
    while ((node = nodes[node].parent) != 0) path.insert(0, nodes[node].name + '.');
    return path;
}

std::string name_of(codec which) {
    constexpr std::array<std::string_view, 8> names = {"none",   "snappy", "gzip", "LZO",
                                                       "brotli", "LZ4",    "zstd", "LZ4_RAW"};
    const auto code = static_cast<std::size_t>(which);
    return code < names.size() ? std::string(names[code]) : "number " + std::to_string(code);
}

file_metadata parse_metadata(std::string_view footer, std::uint64_t max_bytes) {
    file_metadata result;
    memory_count memory(max_bytes);
    thrift_reader in(footer);
    in.read_struct([&](std::int64_t id, thrift_type field) {
        switch (id) {
            case 2: {
                const char* const begin = in.rest().data();
                schema_builder builder(result.columns, memory);
                in.read_list(
                    field, [](std::uint64_t) {},
                    [&](thrift_type type) { builder.add(read_element(in, type)); });
                builder.finish();
                result.schema_bytes = {begin, static_cast<std::size_t>(in.rest().data() - begin)};
                return true;
            }
            case 4:
                if (result.columns.nodes.empty()) throw fault("row groups before the schema");
                return in.read_list(
                    field, [](std::uint64_t) {},
                    [&](thrift_type type) {
                        result.groups.push_back(read_group(in, type, result.columns.leaves.size(), memory));
                    });
            case 5:
                return in.read_list(
                    field, [](std::uint64_t) {},
                    [&](thrift_type type) { read_key_value(in, type, result, memory); });
            case 6:
                result.created_by = in.binary(field);
                return true;
            default:
                return false;
        }
    });
    if (result.columns.nodes.empty()) throw fault("the schema is missing");
    number_rows(result);
    return result;
}

page_header parse_page_header(std::string_view bytes, std::size_t& size) {
    // Statistics in a header may be as long as two values of the column.
    thrift_reader in(bytes);
    page_header result;
    bool described = false;
    const auto count = [&in](thrift_type type) { return within<std::uint32_t>(natural(in.integer(type))); };
    const auto encoded = [&in](thrift_type type) {
        return static_cast<encoding>(within<std::uint8_t>(in.integer(type)));
    };
    in.read_struct([&](std::int64_t id, thrift_type field) {
        switch (id) {
            case 1:
                result.what = static_cast<page_header::kind>(within<std::uint8_t>(in.integer(field)));
                return true;
            case 2:
                result.plain_bytes = count(field);
                return true;
            case 3:
                result.packed_bytes = count(field);
                return true;
            case 4:
                result.has_checksum = true;
                result.checksum = static_cast<std::uint32_t>(in.integer(field));
                return true;
            case 5:
            case 7:  // a dictionary: the same first two
                described |=
                    result.what == (id == 5 ? page_header::kind::data : page_header::kind::dictionary);
                return in.read_struct(field, [&](std::int64_t part, thrift_type type) {
                    if (part == 1) result.values = count(type);
                    if (part == 2) result.encoded = encoded(type);
                    if (part == 3 && id == 5) result.definition_encoded = encoded(type);
                    if (part == 4 && id == 5) result.repetition_encoded = encoded(type);
                    return part == 1 || part == 2 || (id == 5 && (part == 3 || part == 4));
                });
            case 8:
                described |= result.what == page_header::kind::data_v2;
                return in.read_struct(field, [&](std::int64_t part, thrift_type type) {
                    if (part == 1) result.values = count(type);
                    if (part == 3) result.rows = count(type);
                    if (part == 4) result.encoded = encoded(type);
                    if (part == 5) result.definition_bytes = count(type);
                    if (part == 6) result.repetition_bytes = count(type);
                    if (part == 7) result.is_packed = thrift_reader::boolean(type);
                    return part == 1 || (part >= 3 && part <= 7);
                });
            default:
                return false;
        }
    });
    using kind = page_header::kind;
    if (!described &&
        (result.what == kind::data || result.what == kind::data_v2 || result.what == kind::dictionary))
        throw fault("a page without a description");
    size = bytes.size() - in.rest().size();
    return result;
}

}  // namespace quern::io::parquet
