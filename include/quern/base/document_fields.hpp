// SPDX-License-Identifier: Apache-2.0
// Which member of a JSON record, or column of a table, is what in a document.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace quern {

/// Names of members or columns. A dotted name leads into objects: "meta.url"; a member whose own name has the dot comes
/// first. Empty: the known names (docs/corpora.md).
struct document_fields {
    std::string id;
    std::vector<std::string> text;  ///< several are joined in this order, an empty line between them
    std::string title;
    std::string links;
    /// Of the other members, those to keep in document::fields, by name; "*", alone: all of them.
    std::vector<std::string> kept;

    /// Whether a member is chosen for the id, the text, the title or the links.
    bool any_chosen() const { return !id.empty() || !text.empty() || !title.empty() || !links.empty(); }
    bool keeps_all() const { return kept.size() == 1 && kept.front() == "*"; }
};

inline constexpr std::size_t max_text_fields = 16, max_kept_fields = 1000, max_parts_of_a_field = 8;

/// "title,abstract" as a list, and back; the list of "*" alone as "all".
std::vector<std::string> parse_field_list(std::string_view text);
std::string field_list_text(const std::vector<std::string>& names);

/// The names in use, each with its option ("id_field"), in this order: id, title, links, text, kept; without "*".
std::vector<std::pair<std::string_view, std::string>> named_fields(const document_fields& fields);

/// Throws usage_error for an empty or repeated name, a name with more than 8 parts, more names than allowed.
void check_fields(const document_fields& fields);

}  // namespace quern
