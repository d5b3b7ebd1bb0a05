// SPDX-License-Identifier: Apache-2.0
#include "hit_rows.hpp"

#include <fmt/format.h>

#include <string_view>

namespace quern::cli {
namespace {

std::vector<std::string> columns_of(const char* first, bool explanation) {
    std::vector<std::string> columns{"rank", "id", "score", "title", "snippet"};
    if (first != nullptr) columns.insert(columns.begin(), first);
    if (explanation) columns.emplace_back("explanation");
    return columns;
}

std::string name_of(const explained_term& of) {
    if (of.list == explained_list::like) return "  like " + of.term;
    return "  " + of.term + (of.similar_to.empty() ? "" : " (similar to " + of.similar_to + ")");
}

std::string counts_of(const explained_term& of, std::uint32_t words) {
    if (of.list == explained_list::prior) return fmt::format("{:.4f} times the average", *of.value);
    if (of.list == explained_list::like) return fmt::format("cosine {:.4f}", *of.value);
    std::string text = fmt::format("f {}", of.in_document);
    if (of.history_in_document) text += fmt::format(" of {}", *of.history_in_document);
    text += fmt::format(", df {}, cf {}", of.documents, of.in_collection);
    if (of.history_in_collection) text += fmt::format(" of {}", *of.history_in_collection);
    text += fmt::format(", |d| {}", words);
    if (of.count != 1) text += fmt::format(", {} times", of.count);
    if (of.weight != 1) text += fmt::format(", weight {:.4f}", of.weight);
    return text;
}

std::string parts_of(const explained_term& of) {
    std::string text;
    const auto add = [&](const char* name, double value) {
        if (value != 0) text += fmt::format("{}{} {:.4f}", text.empty() ? "" : ", ", name, value);
    };
    add("part", of.part);
    add("background", of.background);
    add("length", of.length);
    add("title", of.title);
    return text;
}

}  // namespace

hit_rows::hit_rows(session& run, output& to, bool explained, const char* first)
    : in_column_(explained && run.format_for(to) != row_format::table),
      in_rows_(explained && !in_column_),
      rows_(run.rows(to, columns_of(first, in_column_))) {}

void hit_rows::write(const search_answer& answer, std::optional<cell> first) {
    for (const search_hit& hit : answer.hits) {
        cells_.clear();
        if (first) cells_.push_back(*first);
        cells_.insert(cells_.end(), {static_cast<std::uint64_t>(hit.rank), hit.id, hit.score, hit.title,
                                     std::string_view(hit.snippet)});
        const std::string explanation = in_column_ ? explanation_json(hit) : std::string();
        if (in_column_) cells_.emplace_back(raw_json{explanation});
        rows_.row(cells_);
        if (in_rows_) write_terms(hit, first.has_value());
    }
}

void hit_rows::write_terms(const search_hit& hit, bool has_first) {
    for (const explained_term& of : hit.explanation) {
        const std::string name = name_of(of), counts = counts_of(of, hit.words), parts = parts_of(of);
        cells_.assign(has_first ? 2 : 1, std::monostate());
        cells_.insert(cells_.end(),
                      {std::string_view(name), of.score, std::string_view(counts), std::string_view(parts)});
        rows_.row(cells_);
    }
}

}  // namespace quern::cli
