// SPDX-License-Identifier: Apache-2.0
#include "io/corpus/parquet_columns.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include "io/corpus/encoding.hpp"
#include "io/corpus/field_names.hpp"
#include "io/corpus/parquet_json_value.hpp"
#include "quern/base/error.hpp"

namespace quern::io {
namespace {

using parquet::leaf_column;
using parquet::meaning;
using parquet::physical_type;
using parquet::schema;
using parquet::schema_node;

constexpr std::uint32_t root = 0;

/// The column at a name that may lead into groups by dots: a column whose own name has the dots comes first, and of the
/// ways into groups the one with the longest name.
std::optional<std::uint32_t> node_at(const schema& columns, std::uint32_t group, std::string_view name) {
    const auto child = [&](std::string_view wanted) -> std::optional<std::uint32_t> {
        for (const std::uint32_t each : columns.nodes[group].children)
            if (columns.nodes[each].name == wanted) return each;
        return std::nullopt;
    };
    if (const auto own = child(name)) return own;
    for (std::size_t dot = name.rfind('.'); dot != std::string_view::npos; dot = name.rfind('.', dot - 1)) {
        if (const auto outer = child(name.substr(0, dot)))
            if (const auto found = node_at(columns, *outer, name.substr(dot + 1))) return found;
        if (dot == 0) break;
    }
    return std::nullopt;
}

bool holds_integers(const schema& columns, const leaf_column& leaf) {
    const meaning what = columns.nodes[leaf.node].means.what;
    return (leaf.type == physical_type::int32 || leaf.type == physical_type::int64) &&
           (what == meaning::none || what == meaning::integer);
}

bool holds_ids(const schema& columns, const leaf_column& leaf) {
    return holds_text(columns, leaf) || holds_integers(columns, leaf) ||
           columns.nodes[leaf.node].means.what == meaning::uuid;
}

class chooser {
  public:
    chooser(schema columns, const document_fields& fields, const std::string& file)
        : fields_(fields), file_(file), columns_(chosen_.columns) {
        columns_ = std::move(columns);
    }

    parquet_columns choose() {
        choose_text();
        if (const auto node = column_of(fields_.id, id_names)) {
            chosen_.id = value_of(*node, "id", "strings or integers", holds_ids);
            chosen_.id_is_chosen = !fields_.id.empty();
        }
        if (const auto node = column_of(fields_.title, std::array{std::string_view("title")}))
            chosen_.title = value_of(*node, "title", "strings", holds_text);
        if (const auto node = column_of(fields_.links, std::array{std::string_view("links")}))
            choose_links(*node);
        for (const std::size_t leaf : chosen_.text) take_for_text(leaf);
        for (const std::size_t leaf : {chosen_.id, chosen_.title, chosen_.links}) take_for_text(leaf);
        for (const std::uint32_t node : columns_.nodes[root].children)
            if (has_json_form(columns_, node)) chosen_.all.push_back({columns_.nodes[node].name, node});
        choose_kept();
        return std::move(chosen_);
    }

  private:
    [[noreturn]] void refuse(const std::string& reason) const { throw invalid_input(file_, 0, reason); }

    static std::string shown(std::string_view name) {
        std::string text(name.substr(0, 60));
        repair_utf8(text);
        return '"' + text + '"';
    }
    std::string with_names(std::string reason) const {
        constexpr std::size_t max = 8;
        const auto& all = columns_.nodes[root].children;
        for (std::size_t i = 0; i < std::min(all.size(), max); ++i)
            reason += (i == 0 ? "; the file has " : ", ") + shown(columns_.nodes[all[i]].name);
        return all.size() > max ? reason + ", …" : reason;
    }

    /// The column of a chosen name, or of the first of the known names. Columns of nulls count as missing.
    template <std::size_t Count>
    std::optional<std::uint32_t> column_of(const std::string& chosen,
                                           const std::array<std::string_view, Count>& known) const {
        if (!chosen.empty()) return column_named(chosen);
        for (const std::string_view name : known) {
            const auto found = node_at(columns_, root, name);
            if (found && !is_nothing(*found)) return found;
        }
        return std::nullopt;
    }
    std::uint32_t column_named(const std::string& name) const {
        if (const auto found = node_at(columns_, root, name)) return *found;
        refuse(with_names("no column " + shown(name)));
    }
    /// Whether a column, or all values of a list, can be nothing but null.
    bool is_nothing(std::uint32_t node) const {
        const auto& children = columns_.nodes[node].children;
        if (children.empty()) return columns_.nodes[node].means.what == meaning::nothing;
        return children.size() == 1 && is_nothing(children.front());
    }

    template <class Holds>
    std::size_t value_of(std::uint32_t node, const std::string& what, const std::string& expected,
                         const Holds& holds) const {
        const std::uint32_t leaf = columns_.nodes[node].leaf;
        const bool is_flat = leaf != schema_node::no_leaf && columns_.leaves[leaf].max_repetition == 0;
        if (is_flat && holds(columns_, columns_.leaves[leaf])) return leaf;
        std::string reason = "the " + what + " needs a column of " + expected + ", and " +
                             shown(columns_.path_of(node)) + " is " + type_in_words(columns_, node);
        const auto& parts = columns_.nodes[node].children;
        if (columns_.nodes[node].means.what == meaning::none && !parts.empty()) {
            reason += "; name a column within it, such as " + shown(columns_.path_of(parts.front()));
        } else {
            reason += "; choose another column, or convert this one first";
        }
        refuse(reason);
    }

    void choose_text() {
        for (const std::string& name : fields_.text)
            chosen_.text.push_back(value_of(column_named(name), "text", "strings", holds_text));
        if (!chosen_.text.empty()) return;
        std::optional<std::uint32_t> unfit;
        for (const std::string_view name : text_names) {
            const auto node = node_at(columns_, root, name);
            if (!node) continue;
            const std::uint32_t leaf = columns_.nodes[*node].leaf;
            const bool is_flat = leaf != schema_node::no_leaf && columns_.leaves[leaf].max_repetition == 0;
            if (is_flat && holds_text(columns_, columns_.leaves[leaf])) {
                chosen_.text.push_back(leaf);
                return;
            }
            if (!unfit) unfit = node;
        }
        if (unfit) value_of(*unfit, "text", "strings", holds_text);
        refuse(with_names("no text: expected a column " + expected_names(text_names)));
    }

    void choose_links(std::uint32_t node) {
        std::uint32_t at = node;
        while (columns_.nodes[at].children.size() == 1) at = columns_.nodes[at].children.front();
        const std::uint32_t leaf = columns_.nodes[at].leaf;
        const bool is_list = leaf != schema_node::no_leaf && columns_.leaves[leaf].max_repetition == 1;
        if (!is_list || !holds_ids(columns_, columns_.leaves[leaf]))
            refuse("the links need a column of lists of strings or integers, and " +
                   shown(columns_.path_of(node)) + " is " + type_in_words(columns_, node));
        chosen_.links = leaf;
    }

    void take_for_text(std::size_t leaf) {
        if (leaf == parquet_columns::absent) return;
        meaning& what = columns_.nodes[columns_.leaves[leaf].node].means.what;
        if (what == meaning::none && columns_.leaves[leaf].type == physical_type::byte_array)
            what = meaning::text;
    }

    bool is_used(std::uint32_t node) const {
        const auto is_above = [&](std::size_t leaf) {
            if (leaf == parquet_columns::absent) return false;
            std::uint32_t at = columns_.leaves[leaf].node;
            while (at != node && at != root) at = columns_.nodes[at].parent;
            return at == node;
        };
        // A group is kept though a column within it is the text, as an object of JSON lines is.
        const std::uint32_t leaf = columns_.nodes[node].leaf;
        if (leaf == schema_node::no_leaf)
            return chosen_.links != parquet_columns::absent && is_list_of_links(node);
        return is_above(chosen_.id) || is_above(chosen_.title) || is_above(chosen_.links) ||
               std::ranges::any_of(chosen_.text, is_above);
    }
    bool is_list_of_links(std::uint32_t node) const {
        while (columns_.nodes[node].children.size() == 1) node = columns_.nodes[node].children.front();
        return columns_.nodes[node].leaf == chosen_.links;
    }

    void choose_kept() {
        const bool keeps_all = fields_.kept.size() == 1 && fields_.kept.front() == "*";
        const auto keep = [&](const std::string& name, std::uint32_t node) {
            if (has_json_form(columns_, node)) {
                chosen_.kept.push_back({name, node});
            } else {
                chosen_.unkept.push_back(name);
            }
        };
        if (!keeps_all) {
            for (const std::string& name : fields_.kept) {
                const std::uint32_t node = column_named(name);
                if (columns_.nodes[columns_.nodes[node].parent].repetition_level != 0)
                    refuse("the column " + shown(name) + " is within a list; keep the list");
                keep(name, node);
            }
            return;
        }
        for (const std::uint32_t node : columns_.nodes[root].children)
            if (!is_used(node)) keep(columns_.nodes[node].name, node);
    }

    const document_fields& fields_;
    const std::string& file_;
    parquet_columns chosen_;
    schema& columns_;  ///< of chosen_
};

}  // namespace

bool holds_text(const schema& columns, const leaf_column& leaf) {
    const meaning what = columns.nodes[leaf.node].means.what;
    return leaf.type == physical_type::byte_array &&
           (what == meaning::none || what == meaning::text || what == meaning::json);
}

std::string type_in_words(const schema& columns, std::uint32_t node) {
    using enum meaning;
    const schema_node& its = columns.nodes[node];
    if (its.leaf == schema_node::no_leaf) {
        if (its.means.what == list) return "a list";
        if (its.means.what == map) return "a map";
        return its.repeats == parquet::repetition::repeated ? "a list of groups" : "a group of columns";
    }
    const leaf_column& leaf = columns.leaves[its.leaf];
    std::string values;
    switch (its.means.what) {
        case decimal:
            values = "decimals";
            break;
        case date:
            values = "dates";
            break;
        case time:
        case timestamp:
            values = "times";
            break;
        case nothing:
            values = "nulls";
            break;
        case uuid:
            values = "UUIDs";
            break;
        default: {
            constexpr std::array<std::string_view, 8> names = {"booleans", "integers", "integers", "times",
                                                               "numbers",  "numbers",  "strings",  "bytes"};
            values = names.at(static_cast<std::size_t>(leaf.type));
        }
    }
    return leaf.max_repetition == 0 ? "a column of " + values : "a list of " + values;
}

parquet_columns choose_columns(schema columns, const document_fields& fields, const std::string& file) {
    return chooser(std::move(columns), fields, file).choose();
}

}  // namespace quern::io
