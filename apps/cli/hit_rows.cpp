// SPDX-License-Identifier: Apache-2.0
#include "hit_rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "values.hpp"

namespace quern::cli {
namespace {

std::vector<std::string> columns_of(const hit_columns& of, bool snippets) {
    std::vector<std::string> columns;
    for (const char* name : {of.first, "rank", "id", "score", "title", snippets ? "snippet" : nullptr,
                             of.duplicates ? "copies" : nullptr, of.duplicates ? "copy_count" : nullptr,
                             of.fields ? "fields" : nullptr, of.explanations ? "explanation" : nullptr,
                             of.totals ? "total" : nullptr, of.corrections ? "corrected_query" : nullptr})
        if (name != nullptr) columns.emplace_back(name);
    return columns;
}

/// Without those that the form has no place for.
hit_columns columns_in(row_format format, hit_columns wanted) {
    const bool is_jsonl = format == row_format::jsonl;
    wanted.explanations &= format != row_format::table;
    for (bool* const member : {&wanted.duplicates, &wanted.fields, &wanted.totals, &wanted.corrections})
        *member &= is_jsonl;
    return wanted;
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

hit_rows::hit_rows(session& job, output& to, const hit_columns& wanted)
    : columns_(columns_in(job.format_for(to), wanted)),
      in_table_(job.format_for(to) == row_format::table),
      terms_below_(in_table_ && wanted.explanations),
      duplicates_below_(in_table_ && wanted.duplicates),
      snippets_below_(in_table_ && !wanted.explanations),
      rows_(job.rows(to, columns_of(columns_, !snippets_below_))) {
    if (terms_below_) rows_.wrap();
}

std::vector<text_mark> hit_rows::marks_in(const search_engine& engine, std::string_view text) const {
    std::vector<text_mark> marks;
    if (words_.empty()) return marks;
    for (const text_match& match : engine.matches(text, words_)) marks.push_back({match.begin, match.end});
    return marks;
}

void hit_rows::write(const search_engine& engine, std::string_view query, const search_result& result,
                     std::optional<cell> first, const std::optional<std::string>& corrected) {
    words_.clear();
    if (rows_.emphasises() && in_table_ && !result.hits.empty()) {
        words_ = engine.words_of(corrected ? *corrected : query, result.syntax);
        for (const similar_word& similar : result.similar_words) words_.push_back(similar.word);
        words_.insert(words_.end(), result.variant_words.begin(), result.variant_words.end());
        std::ranges::sort(words_);
    }
    for (const search_hit& hit : result.hits) {
        const std::vector<text_mark> in_title = marks_in(engine, hit.title),
                                     in_snippet = marks_in(engine, hit.snippet);
        const marked_text snippet{hit.snippet, in_snippet};
        cells_.clear();
        if (first) cells_.push_back(*first);
        cells_.insert(cells_.end(), {static_cast<std::uint64_t>(hit.rank), hit.id, hit.score,
                                     marked_text{hit.title, in_title}});
        if (!snippets_below_) cells_.emplace_back(snippet);
        std::string duplicates, explanation;  // must outlive the cells
        if (columns_.duplicates) {
            cells_.emplace_back(raw_json{duplicates = duplicates_json(hit)});
            cells_.emplace_back(hit.duplicate_count);
        }
        if (columns_.fields)
            cells_.emplace_back(raw_json{hit.fields.empty() ? "{}" : std::string_view(hit.fields)});
        if (columns_.explanations) cells_.emplace_back(raw_json{explanation = explanation_json(hit)});
        if (columns_.totals) cells_.emplace_back(result.total.value_or(0));
        if (columns_.corrections)
            cells_.push_back(corrected ? cell(std::string_view(*corrected)) : cell(std::monostate()));
        rows_.row(cells_);
        if (snippets_below_) rows_.text_below(snippet);
        if (terms_below_) write_terms(hit, first.has_value());
        if (duplicates_below_) write_duplicates(hit, first.has_value());
    }
}

/// Leaves the first columns of a row below a hit empty.
void hit_rows::begin_lower_row(bool has_first) {
    cells_.clear();
    if (has_first) cells_.emplace_back(std::monostate());
    cells_.emplace_back(std::monostate());
}

void hit_rows::write_duplicates(const search_hit& hit, bool has_first) {
    for (const duplicate_hit& of : hit.duplicates) {
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
    if (hit.duplicate_count == hit.duplicates.size()) return;
    const std::string more =
        fmt::format("  and {} more", grouped(hit.duplicate_count - hit.duplicates.size()));
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
