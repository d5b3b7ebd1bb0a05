// SPDX-License-Identifier: Apache-2.0
#include "hit_rows.hpp"

#include <fmt/format.h>

#include <string_view>

#include "values.hpp"

namespace quern::cli {
namespace {

std::vector<std::string> columns_of(const char* first, bool snippets, bool copies, bool explanation) {
    std::vector<std::string> columns;
    for (const char* name :
         {first, "rank", "id", "score", "title", snippets ? "snippet" : nullptr, copies ? "copies" : nullptr,
          copies ? "copy_count" : nullptr, explanation ? "explanation" : nullptr})
        if (name != nullptr) columns.emplace_back(name);
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

hit_rows::hit_rows(session& run, output& to, bool explained, bool copies, const char* first)
    : in_column_(explained && run.format_for(to) != row_format::table),
      in_rows_(explained && !in_column_),
      copies_in_column_(copies && run.format_for(to) == row_format::jsonl),
      copies_in_rows_(copies && run.format_for(to) == row_format::table),
      snippets_below_(!explained && run.format_for(to) == row_format::table),
      rows_(run.rows(to, columns_of(first, !snippets_below_, copies_in_column_, in_column_))) {}

void hit_rows::write(const search_answer& answer, std::optional<cell> first) {
    for (const search_hit& hit : answer.hits) {
        cells_.clear();
        if (first) cells_.push_back(*first);
        cells_.insert(cells_.end(), {static_cast<std::uint64_t>(hit.rank), hit.id, hit.score, hit.title});
        if (!snippets_below_) cells_.emplace_back(std::string_view(hit.snippet));
        std::string copies, explanation;  // as long as the cells
        if (copies_in_column_) {
            cells_.emplace_back(raw_json{copies = copies_json(hit)});
            cells_.emplace_back(hit.copy_count);
        }
        if (in_column_) cells_.emplace_back(raw_json{explanation = explanation_json(hit)});
        rows_.row(cells_);
        if (snippets_below_) rows_.text_below(hit.snippet);
        if (in_rows_) write_terms(hit, first.has_value());
        if (copies_in_rows_) write_copies(hit, first.has_value());
    }
}

/// The first columns of a row under a hit are empty.
void hit_rows::begin_lower_row(bool has_first) {
    cells_.clear();
    if (has_first) cells_.emplace_back(std::monostate());
    cells_.emplace_back(std::monostate());
}

void hit_rows::write_copies(const search_hit& hit, bool has_first) {
    for (const hit_copy& of : hit.copies) {
        const std::string id = fmt::format("  {}", of.id);
        const std::string what =
            fmt::format("a copy, {} edit{} away", of.distance, of.distance == 1 ? "" : "s");
        const std::string title = of.title.empty() ? what : fmt::format("{} ({})", of.title, what);
        begin_lower_row(has_first);
        cells_.insert(cells_.end(), {std::string_view(id), std::monostate()});
        if (snippets_below_) {
            cells_.emplace_back(std::string_view(title));
        } else {
            cells_.insert(cells_.end(), {of.title, std::string_view(what)});
        }
        rows_.row(cells_);
    }
    if (hit.copy_count == hit.copies.size()) return;
    const std::string more = fmt::format("  and {} more", grouped(hit.copy_count - hit.copies.size()));
    begin_lower_row(has_first);
    cells_.insert(cells_.end(), {std::string_view(more), std::monostate(), std::monostate()});
    if (!snippets_below_) cells_.emplace_back(std::monostate());
    rows_.row(cells_);
}

void hit_rows::write_terms(const search_hit& hit, bool has_first) {
    for (const explained_term& of : hit.explanation) {
        const std::string name = name_of(of), counts = counts_of(of, hit.words), parts = parts_of(of);
        begin_lower_row(has_first);
        cells_.insert(cells_.end(),
                      {std::string_view(name), of.score, std::string_view(counts), std::string_view(parts)});
        rows_.row(cells_);
    }
}

}  // namespace quern::cli
