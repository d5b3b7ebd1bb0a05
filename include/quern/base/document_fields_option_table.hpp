// SPDX-License-Identifier: Apache-2.0
// The options of every command that reads records, and the fields that a store keeps.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "quern/base/document_fields.hpp"
#include "quern/base/option.hpp"

namespace quern {

namespace option_detail {

/// An option whose value is a list of names, separated by commas.
template <std::vector<std::string> document_fields::*List>
constexpr option<document_fields> field_list_option(std::string_view name, std::string_view value,
                                                    std::string_view help) {
    option<document_fields> row;
    row.name = name;
    row.value = value;
    row.help = help;
    row.kind = option_kind::text;
    row.get = [](const document_fields& from) -> option_value { return field_list_text(from.*List); };
    row.set = [](document_fields& into, const option_value& given) {
        const std::string& text = std::get<std::string>(given);
        const bool all = List == &document_fields::kept && text == "all";
        into.*List = all ? std::vector<std::string>{"*"} : parse_field_list(text);
    };
    return row;
}

}  // namespace option_detail

template <>
inline constexpr auto options_of<document_fields> = std::array{
    option_for<&document_fields::id>(
        "id_field", "NAME",
        "The member of a JSON record, or the column of a table, that is the id: a string or an integer. A "
        "dotted name leads into objects (meta.url). A record without it is rejected."),
    option_detail::field_list_option<&document_fields::text>(
        "text_field", "NAME,...",
        "The member that is the text: a string. Several are joined in this order, with an empty line between "
        "them; those that a record lacks are passed over."),
    option_for<&document_fields::title>("title_field", "NAME", "The member that is the title: a string."),
    option_for<&document_fields::links>(
        "link_field", "NAME",
        "The member with the ids that the document links to: an array of strings or integers. In a table: "
        "such an array, or ids separated by blanks."),
    option_detail::field_list_option<&document_fields::kept>(
        "keep_fields", "NAME,...|all",
        "Other members of the records to keep in the store, for results, filters and sorting: by name, or "
        "all "
        "of them.")};

}  // namespace quern
