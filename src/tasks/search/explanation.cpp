// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <string_view>
#include <variant>

#include "quern/base/rows.hpp"
#include "quern/tasks/search.hpp"

namespace quern {

std::string explanation_json(const search_hit& hit) {
    const auto or_nothing = [](const auto& value) { return value ? cell(*value) : cell(std::monostate()); };
    std::string list = "[";
    row_writer terms(
        row_format::jsonl,
        {"term", "count", "f", "df", "cf", "history_f", "history_cf", "length", "part", "background",
         "length_part", "title_part", "list", "weight", "similar_to", "value", "score"},
        [&](std::string_view line) { list.append(line.substr(0, line.size() - 1)).append(","); });
    for (const explained_term& of : hit.explanation) {
        terms.row({std::string_view(of.term), std::uint64_t{of.count}, std::uint64_t{of.in_document},
                   of.documents, of.in_collection, or_nothing(of.history_in_document),
                   or_nothing(of.history_in_collection), std::uint64_t{hit.words}, of.part, of.background,
                   of.length, of.title, explained_list_names[static_cast<std::size_t>(of.list)], of.weight,
                   of.similar_to.empty() ? cell(std::monostate()) : cell(std::string_view(of.similar_to)),
                   or_nothing(of.value), of.score});
    }
    if (list.size() > 1) list.pop_back();
    return list + "]";
}

std::string duplicates_json(const search_hit& hit) {
    std::string list = "[";
    row_writer duplicates(row_format::jsonl, {"id", "title", "distance"}, [&](std::string_view line) {
        list.append(line.substr(0, line.size() - 1)).append(",");
    });
    for (const duplicate_hit& of : hit.duplicates)
        duplicates.row({of.id, of.title, std::uint64_t{of.distance}});
    if (list.size() > 1) list.pop_back();
    return list + "]";
}

}  // namespace quern
