// SPDX-License-Identifier: Apache-2.0
#include "io/corpus/parquet_json.hpp"

#include <vector>

#include "io/corpus/kept_fields.hpp"
#include "io/corpus/parquet_json_value.hpp"
#include "quern/base/error.hpp"

namespace quern::io {

using parquet::meaning;
using parquet::schema;
using parquet::schema_node;

/// The state of write() in a row.
struct parquet_json_writer::row {
    std::string& out;
    std::span<column_entries> entries;
    std::uint64_t max_bytes;
    const std::string& file;
    std::vector<bool> begun;  ///< whether an entry of the row was passed, for each leaf

    /// The next entry of a leaf in this row. Throws if the row has none left.
    column_entries& next(std::size_t leaf) {
        if (!has_more(leaf, 0)) throw invalid_input(file, 0, "the levels of its columns do not agree");
        return entries[leaf];
    }
    /// Whether the row has another entry, and that repeats at `level`; 0: at any.
    bool has_more(std::size_t leaf, std::uint16_t level) {
        column_entries& its = entries[leaf];
        if (!its.has_entry() || (begun[leaf] && its.repetition() == 0)) return false;
        return level == 0 || its.repetition() == level;
    }
    void pass(std::size_t leaf) {
        next(leaf).pass();
        begun[leaf] = true;
        if (out.size() > max_bytes) throw out_of_memory("a row as JSON", out.size(), max_bytes);
    }
    /// Whether the column, or an element of it, is present in the next entry; else passes over the entry.
    bool is_present(const column& of) {
        if (next(of.first_leaf).definition() >= of.definition) return true;
        for (std::size_t i = 0; i < of.leaf_count; ++i) pass(of.first_leaf + i);
        return false;
    }
};

parquet_json_writer::parquet_json_writer(const schema& columns,
                                         std::span<const parquet_columns::member> members)
    : columns_(columns) {
    for (const auto& member : members) members_.push_back(make(member.node, member.name));
}

/// The format's rules for the repeated part of a list: the element itself, or a group around it.
bool parquet_json_writer::is_list_around(std::uint32_t list) const {
    const schema_node& outer = columns_.nodes[list];
    const schema_node& repeated = columns_.nodes[outer.children.front()];
    return repeated.children.size() == 1 && repeated.name != "array" &&
           repeated.name != outer.name + "_tuple";
}

parquet_json_writer::column parquet_json_writer::make(std::uint32_t node, std::string_view name) {
    const schema_node& its = columns_.nodes[node];
    column result;
    append_json_text(result.name, name);
    result.name += ':';
    name_bytes_ += result.name.size() + sizeof "null";
    result.is_repeated = its.repeats == parquet::repetition::repeated;
    result.node = node;
    result.definition = its.definition;
    result.repetition = its.repetition_level;
    result.first_leaf = leaves_.size();
    const bool is_wrapper = !result.is_repeated && its.children.size() == 1 &&
                            columns_.nodes[its.children.front()].repeats == parquet::repetition::repeated;
    if (its.leaf != schema_node::no_leaf) {
        result.content = form::value;
        leaves_.push_back(its.leaf);
    } else {
        for (const std::uint32_t part : its.children)
            if (has_json_form(columns_, part)) result.parts.push_back(make(part, columns_.nodes[part].name));
    }
    if (is_wrapper && its.means.what == meaning::list) {
        result.content = form::list;
        if (is_list_around(node)) result.parts.front().content = form::around;
    } else if (is_wrapper && its.means.what == meaning::map) {
        result.content = has_text_keys(result.parts.front()) ? form::map : form::list;
    }
    result.leaf_count = leaves_.size() - result.first_leaf;
    return result;
}

bool parquet_json_writer::has_text_keys(const column& of) const {
    if (of.content != form::object || of.parts.size() != 2) return false;
    const column& key = of.parts.front();
    return key.content == form::value && !key.is_repeated &&
           columns_.nodes[key.node].means.what == meaning::text;
}

void parquet_json_writer::write(std::string& out, std::span<column_entries> entries, std::uint64_t max_bytes,
                                const std::string& file) const {
    row to{out, entries, max_bytes, file, std::vector<bool>(leaves_.size())};
    out += '{';
    for (const column& member : members_) {
        if (&member != &members_.front()) out += ',';
        out += member.name;
        write_column(to, member);
    }
    out += '}';
    for (std::size_t i = 0; i < leaves_.size(); ++i)
        if (to.has_more(i, 0)) throw invalid_input(file, 0, "the levels of its columns do not agree");
}

void parquet_json_writer::write_column(row& to, const column& of) const {
    if (of.is_repeated) {
        write_elements(to, of);
    } else {
        write_content(to, of);
    }
}

void parquet_json_writer::write_content(row& to, const column& of) const {
    if (of.content == form::value) {
        const column_entries& entry = to.next(of.first_leaf);
        if (entry.has_value()) {
            append_json_value(to.out, columns_.nodes[of.node], entry.leaf(), entry.value());
        } else {
            to.out += "null";
        }
        return to.pass(of.first_leaf);
    }
    if (!to.is_present(of)) {
        to.out += "null";
    } else if (of.content == form::object) {
        write_object(to, of);
    } else if (of.content == form::map) {
        write_map(to, of.parts.front());
    } else {
        write_column(to, of.parts.front());
    }
}

void parquet_json_writer::write_object(row& to, const column& of) const {
    to.out += '{';
    for (const column& part : of.parts) {
        if (&part != &of.parts.front()) to.out += ',';
        to.out += part.name;
        write_column(to, part);
    }
    to.out += '}';
}

void parquet_json_writer::write_elements(row& to, const column& of) const {
    if (!to.is_present(of)) {
        to.out += "[]";
        return;
    }
    to.out += '[';
    do {
        if (to.out.back() != '[') to.out += ',';
        write_content(to, of);
    } while (to.has_more(of.first_leaf, of.repetition));
    to.out += ']';
}

void parquet_json_writer::write_map(row& to, const column& of) const {
    if (!to.is_present(of)) {
        to.out += "{}";
        return;
    }
    to.out += '{';
    do {
        if (to.out.back() != '{') to.out += ',';
        const column& key = of.parts.front();
        const column_entries& entry = to.next(key.first_leaf);
        append_json_text(to.out, entry.has_value() ? entry.value() : std::string_view());
        to.pass(key.first_leaf);
        to.out += ':';
        write_column(to, of.parts.back());
    } while (to.has_more(of.first_leaf, of.repetition));
    to.out += '}';
}

}  // namespace quern::io
