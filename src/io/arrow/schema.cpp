// SPDX-License-Identifier: Apache-2.0
// The tables are those of Schema.fbs (arrow.apache.org/docs/format/Columnar.html); a comment names the field of each number.
#include "io/arrow/schema.hpp"

#include <utility>

#include "quern/base/error.hpp"

namespace quern::io::arrow {
namespace {

using parquet::leaf_column;
using parquet::logical_type;
using parquet::meaning;
using parquet::physical_type;
using parquet::repetition;
using parquet::schema_node;
using parquet::time_unit;

constexpr unsigned max_depth = 64;

/// The members of the union Type.
enum class type : std::uint8_t {
    null = 1,
    integer = 2,
    floating = 3,
    binary = 4,
    utf8 = 5,
    boolean = 6,
    decimal = 7,
    date = 8,
    time = 9,
    timestamp = 10,
    interval = 11,
    list = 12,
    structure = 13,
    sum = 14,
    fixed_binary = 15,
    fixed_list = 16,
    map = 17,
    duration = 18,
    large_binary = 19,
    large_utf8 = 20,
    large_list = 21,
    run_ends = 22,
    binary_view = 23,
    utf8_view = 24,
    list_view = 25,
    large_list_view = 26
};

/// The value column of a leaf.
struct leaf_form {
    physical_type type = physical_type::fixed_bytes;
    std::uint32_t width = 1;
    logical_type means = {.what = meaning::other};
};

class schema_parser {
  public:
    schema_parser(bool unions_have_validity, std::uint64_t metadata_bytes, std::uint64_t max_bytes)
        : unions_have_validity_(unions_have_validity),
          fields_left_(metadata_bytes / 16),  // of one field, at least
          max_bytes_(max_bytes) {}

    arrow_schema parse(const flat_table& schema) {
        if (schema.number<std::int16_t>(0, 0) != 0)  // endianness
            throw fault("its numbers have the highest byte first; write it again on another machine");
        add_node("schema", repetition::required, {}, 0, 0, 0);
        for (std::uint64_t i = 0; i < schema.tables(1); ++i) {  // fields
            path_.clear();
            add(schema.table_of(1, i), {.parent = 0, .definition = 0, .repetition = 0});
        }
        return std::move(made_);
    }

  private:
    struct place {
        std::uint32_t parent = 0;
        std::uint16_t definition = 0, repetition = 0;
        bool is_column = true;  ///< else only its buffers are counted
    };

    void count_memory(std::uint64_t bytes) {
        constexpr std::uint64_t a_field = sizeof(field) + sizeof(schema_node) + sizeof(leaf_column) + 64;
        used_ += a_field + bytes;
        if (used_ > max_bytes_) throw out_of_memory("the columns of an Arrow file", used_, max_bytes_);
    }

    std::uint32_t add_node(std::string name, repetition repeats, const logical_type& means,
                           std::uint32_t parent, std::uint16_t definition, std::uint16_t repetition_level) {
        schema_node node;
        node.name = std::move(name);
        node.repeats = repeats;
        node.means = means;
        node.parent = parent;
        node.definition = definition;
        node.repetition_level = repetition_level;
        const auto number = static_cast<std::uint32_t>(made_.columns.nodes.size());
        if (number != 0) made_.columns.nodes[parent].children.push_back(number);
        made_.columns.nodes.push_back(std::move(node));
        return number;
    }

    /// Adds a field, what is within it, and its columns below `at`. Returns its number.
    std::uint32_t add(const flat_table& from, place at) {
        if (fields_left_-- == 0) throw fault("its metadata have more fields than they have room for");
        if (++depth_ > max_depth) throw fault("its columns are nested more than 64 deep");
        const std::string_view name = from.text(0);
        count_memory(2 * name.size() + 4 * path_.size());
        const auto number = static_cast<std::uint32_t>(made_.fields.size());
        made_.fields.emplace_back();
        field its;
        its.name = name;
        its.node = made_.nodes++;
        its.buffer = made_.buffers;
        its.views_before = made_.views;
        its.is_part = depth_ > 1;
        path_.push_back(number);
        const auto what = static_cast<type>(from.number<std::uint8_t>(2, 0));
        const flat_table details = from.table(3);
        leaf_form leaf;
        describe(what, details, its, leaf);
        if (from.has(4)) {
            add_keys(from.table(4), its);
        } else {
            made_.buffers += buffers_of(what, its, details);
            if (its.how == layout::views) ++made_.views;
        }
        const bool has_parts = its.how == layout::group || its.how == layout::list ||
                               its.how == layout::fixed_list || its.how == layout::unread;
        if (!has_parts || its.encoded) {
            if (its.encoded && has_parts) {  // a dictionary of lists or groups
                its.how = layout::unread;
                leaf = {};
            }
            if (at.is_column) add_leaf(its, leaf, at);
        } else {
            add_parts(what, from, its, at);
        }
        path_.pop_back();
        --depth_;
        made_.fields[number] = std::move(its);
        return number;
    }

    void add_keys(const flat_table& encoding, field& its) {
        const flat_table index = encoding.table(1);
        field::keys keys;
        keys.dictionary = encoding.number<std::int64_t>(0, 0);
        keys.width = static_cast<std::uint32_t>(index.number<std::int32_t>(0, 32)) / 8;
        keys.is_signed = !encoding.has(1) || index.number<std::uint8_t>(1, 0) != 0;
        if (keys.width != 1 && keys.width != 2 && keys.width != 4 && keys.width != 8)
            throw fault("the keys of a dictionary have an unknown width");
        its.encoded = keys;
        made_.buffers += 2;
    }

    void add_leaf(const field& its, const leaf_form& leaf, const place& at) {
        const auto definition = static_cast<std::uint16_t>(at.definition + 1);
        const std::uint32_t node =
            add_node(its.name, repetition::optional, leaf.means, at.parent, definition, at.repetition);
        made_.columns.nodes[node].leaf = static_cast<std::uint32_t>(made_.columns.leaves.size());
        made_.columns.leaves.push_back({node, leaf.type, leaf.width, definition, at.repetition});
        made_.paths.push_back(path_);
    }

    void add_parts(type what, const flat_table& from, field& its, place at) {
        const std::uint64_t parts = from.tables(5);  // children
        if (its.how == layout::unread) {
            if (at.is_column) add_leaf(its, {}, at);
            for (std::uint64_t i = 0; i < parts; ++i) add(from.table_of(5, i), {.is_column = false});
            return;
        }
        const bool is_group = its.how == layout::group;
        if (!is_group && parts != 1) throw fault("a list without a column of its elements");
        place below = at;
        if (at.is_column) {
            const meaning means = is_group ? meaning::none : what == type::map ? meaning::map : meaning::list;
            ++below.definition;
            below.parent = add_node(its.name, repetition::optional, {.what = means}, at.parent,
                                    below.definition, at.repetition);
            if (!is_group) {
                ++below.definition;
                ++below.repetition;
                below.parent = add_node(what == type::map ? "key_value" : "list", repetition::repeated, {},
                                        below.parent, below.definition, below.repetition);
            }
        }
        if (what == type::map) return add_map(from.table_of(5, 0), its, below);
        for (std::uint64_t i = 0; i < parts; ++i) its.children.push_back(add(from.table_of(5, i), below));
    }

    /// The group of a map's keys and values is the repeated group itself.
    void add_map(const flat_table& from, field& map, const place& at) {
        if (static_cast<type>(from.number<std::uint8_t>(2, 0)) != type::structure || from.tables(5) != 2 ||
            from.has(4) || fields_left_-- == 0)
            throw fault("a map without keys and values");
        count_memory(0);
        const auto number = static_cast<std::uint32_t>(made_.fields.size());
        map.children.push_back(number);
        field entries;
        entries.how = layout::group;
        entries.is_part = true;
        entries.node = made_.nodes++;
        entries.buffer = made_.buffers++;
        entries.views_before = made_.views;
        made_.fields.emplace_back();
        for (std::uint64_t i = 0; i < 2; ++i) entries.children.push_back(add(from.table_of(5, i), at));
        made_.fields[number] = std::move(entries);
    }

    /// Buffers of a field itself, without the bytes of views.
    std::uint32_t buffers_of(type what, const field& its, const flat_table& details) const {
        const std::uint32_t of_union = unions_have_validity_ ? 1 : 0;
        switch (what) {
            case type::null:
            case type::run_ends:
                return 0;
            case type::sum:
                return of_union + (details.number<std::int16_t>(0, 0) == 0 ? 1 : 2);  // sparse, dense
            case type::list_view:
            case type::large_list_view:
                return 3;
            default:
                break;
        }
        if (its.how == layout::group || its.how == layout::fixed_list) return 1;
        return its.how == layout::texts ? 3 : 2;
    }

    static void describe(type what, const flat_table& details, field& its, leaf_form& leaf) {
        const auto bytes = [&](bool is_text) {
            leaf = {physical_type::byte_array, 0, {.what = is_text ? meaning::text : meaning::none}};
        };
        switch (what) {
            case type::null:
                its.how = layout::nothing;
                leaf = {physical_type::int32, 4, {.what = meaning::nothing}};
                return;
            case type::boolean:
                its.how = layout::bits;
                leaf = {physical_type::boolean, 1, {}};
                return;
            case type::binary:
            case type::utf8:
                its.how = layout::texts;
                its.width = 4;
                return bytes(what == type::utf8);
            case type::large_binary:
            case type::large_utf8:
                its.how = layout::texts;
                its.width = 8;
                return bytes(what == type::large_utf8);
            case type::binary_view:
            case type::utf8_view:
                its.how = layout::views;
                return bytes(what == type::utf8_view);
            case type::list:
            case type::map:
                its.how = layout::list;
                its.width = 4;
                return;
            case type::large_list:
                its.how = layout::list;
                its.width = 8;
                return;
            case type::fixed_list:
                its.how = layout::fixed_list;
                its.width = positive(details.number<std::int32_t>(0, 0), "elements of a list");
                return;
            case type::structure:
                its.how = layout::group;
                return;
            case type::interval:
                its.how = layout::fixed;
                its.width = details.number<std::int16_t>(0, 0) == 0   ? 4
                            : details.number<std::int16_t>(0, 0) == 1 ? 8
                                                                      : 16;
                return;
            case type::fixed_binary:
                its.how = layout::fixed;
                its.width = positive(details.number<std::int32_t>(0, 0), "bytes of a value");
                leaf = {physical_type::fixed_bytes, std::max(1U, its.width), {}};
                if (its.width == 0) leaf.means.what = meaning::other;
                return;
            case type::integer:
            case type::floating:
            case type::decimal:
            case type::date:
            case type::time:
            case type::timestamp:
            case type::duration:
                its.how = layout::fixed;
                return describe_number(what, details, its, leaf);
            case type::sum:
            case type::run_ends:
            case type::list_view:
            case type::large_list_view:
                return;
        }
        throw fault("the column \"" + its.name.substr(0, 60) + "\" has an unknown type (number " +
                    std::to_string(static_cast<unsigned>(what)) + ")");
    }

    static std::uint32_t positive(std::int32_t value, std::string_view what) {
        if (value < 0) throw fault("a negative number of " + std::string(what));
        return static_cast<std::uint32_t>(value);
    }

    static void describe_number(type what, const flat_table& details, field& its, leaf_form& leaf) {
        const auto take_integer = [&](std::uint32_t bits, const logical_type& means) {
            its.width = bits / 8;
            leaf = bits == 64 ? leaf_form{physical_type::int64, 8, means}
                              : leaf_form{physical_type::int32, 4, means};
        };
        switch (what) {
            case type::integer: {
                const auto bits = static_cast<std::uint32_t>(details.number<std::int32_t>(0, 0));
                const bool is_signed = details.number<std::uint8_t>(1, 0) != 0;
                if (bits == 128) {  // of polars, as a decimal without a fraction, unless it may exceed one
                    its.width = 16;
                    its.converts = conversion::from_little_endian;
                    leaf = {physical_type::fixed_bytes, 16, {.what = meaning::other}};
                    if (is_signed) leaf.means = {.what = meaning::decimal, .precision = 39};
                    return;
                }
                if (bits != 8 && bits != 16 && bits != 32 && bits != 64)
                    throw fault("integers of " + std::to_string(bits) + " bits");
                take_integer(bits, {.what = meaning::integer,
                                    .bits = static_cast<std::uint8_t>(bits),
                                    .is_signed = is_signed});
                if (bits < 32) its.converts = is_signed ? conversion::to_int32 : conversion::to_uint32;
                return;
            }
            case type::floating: {
                const auto precision = details.number<std::int16_t>(0, 0);
                if (precision < 0 || precision > 2) throw fault("numbers of an unknown precision");
                its.width = precision == 0 ? 2 : precision == 1 ? 4 : 8;
                leaf = precision == 0   ? leaf_form{physical_type::fixed_bytes, 2, {.what = meaning::float16}}
                       : precision == 1 ? leaf_form{physical_type::float32, 4, {}}
                                        : leaf_form{physical_type::float64, 8, {}};
                return;
            }
            case type::decimal: {
                const auto bits = static_cast<std::uint32_t>(details.number<std::int32_t>(2, 128));
                if (bits != 32 && bits != 64 && bits != 128 && bits != 256)
                    throw fault("decimals of " + std::to_string(bits) + " bits");
                its.width = bits / 8;
                its.converts = conversion::from_little_endian;
                leaf = {physical_type::fixed_bytes,
                        its.width,
                        {.what = meaning::decimal,
                         .scale = details.number<std::int32_t>(1, 0),
                         .precision = details.number<std::int32_t>(0, 0)}};
                return;
            }
            case type::date: {
                const bool is_days = details.number<std::int16_t>(0, 1) == 0;
                take_integer(32, {.what = meaning::date});
                if (!is_days) {
                    its.width = 8;
                    its.converts = conversion::days;
                }
                return;
            }
            case type::time: {
                const auto bits = static_cast<std::uint32_t>(details.number<std::int32_t>(1, 32));
                if (bits != 32 && bits != 64)
                    throw fault("times of a day of " + std::to_string(bits) + " bits");
                take_integer(bits, {.what = meaning::time});
                take_unit(details.number<std::int16_t>(0, 1), its, leaf);
                return;
            }
            case type::timestamp:
                take_integer(64, {.what = meaning::timestamp, .is_utc = !details.text(1).empty()});
                take_unit(details.number<std::int16_t>(0, 0), its, leaf);
                return;
            default:  // duration
                take_integer(64, {.what = meaning::none});
                return;
        }
    }

    static void take_unit(std::int16_t unit, field& its, leaf_form& leaf) {
        if (unit < 0 || unit > 3) throw fault("times of an unknown unit");
        if (unit == 0) its.converts = conversion::seconds;
        leaf.means.unit = unit < 2    ? time_unit::milliseconds
                          : unit == 2 ? time_unit::microseconds
                                      : time_unit::nanoseconds;
    }

    bool unions_have_validity_;
    std::uint64_t fields_left_, max_bytes_, used_ = 0;
    unsigned depth_ = 0;
    std::vector<std::uint32_t> path_;
    arrow_schema made_;
};

}  // namespace

arrow_schema parse_schema(const flat_table& schema, bool unions_have_validity, std::uint64_t metadata_bytes,
                          std::uint64_t max_bytes) {
    return schema_parser(unions_have_validity, metadata_bytes, max_bytes).parse(schema);
}

}  // namespace quern::io::arrow
