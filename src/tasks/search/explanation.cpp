// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <string_view>
#include <variant>

#include "quern/base/rows.hpp"
#include "quern/tasks/search.hpp"

namespace quern {

std::string explanation_json(const search_hit& hit) {
    const auto count_or_nothing = [](const std::optional<std::uint64_t>& count) {
        return count ? cell(*count) : cell(std::monostate());
    };
    std::string list = "[";
    row_writer terms(
        row_format::jsonl,
        {"term", "count", "f", "df", "cf", "history_f", "history_cf", "length", "part", "background",
         "length_part", "title_part", "score"},
        [&](std::string_view line) { list.append(line.substr(0, line.size() - 1)).append(","); });
    for (const explained_term& of : hit.explanation) {
        terms.row({std::string_view(of.term), std::uint64_t{of.count}, std::uint64_t{of.in_document},
                   of.documents, of.in_collection, count_or_nothing(of.history_in_document),
                   count_or_nothing(of.history_in_collection), std::uint64_t{hit.words}, of.part,
                   of.background, of.length, of.title, of.score});
    }
    if (list.size() > 1) list.pop_back();
    return list + "]";
}

}  // namespace quern
