// SPDX-License-Identifier: Apache-2.0
// The hits of quern search as rows, with their explanations.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "output.hpp"
#include "quern/base/rows.hpp"
#include "quern/tasks/search.hpp"
#include "session.hpp"

namespace quern::cli {

/// The contents of rows besides rank, id, score, title and snippet, in forms that have a column for them.
struct hit_columns {
    const char* first = nullptr;  ///< the name of a column before them
    bool explanations = false, duplicates = false, fields = false, totals = false, corrections = false;
};

/// Columns: rank, id, score, title, snippet; before them a first column if one is named.
/// - With explanations, TSV and JSON lines have a last column with a JSON list; a table has a row for each term below its hit.
/// - Without them, a table has snippets on separate lines below the hits if there is space.
/// - For a store with near-duplicates, a table lists the first few of each below their hit, and JSON lines have members
///   `duplicates` and `duplicate_count`.
/// - With totals, JSON lines have a member `total`: the number of documents that the query finds.
/// - For a store with kept fields, JSON lines have a member `fields`, an object.
/// - With corrections, JSON lines have a last member `corrected_query`: the query that was run if it is not the typed one,
///   else null.
class hit_rows {
  public:
    hit_rows(session& job, output& to, const hit_columns& wanted);
    /// `query`: the query of the result unless `corrected` is set; a terminal shows its words in bold.
    void write(const search_engine& engine, std::string_view query, const search_result& result,
               std::optional<cell> first = {}, const std::optional<std::string>& corrected = {});
    void finish() { rows_.finish(); }

  private:
    std::vector<text_mark> marks_in(const search_engine& engine, std::string_view text) const;
    void begin_lower_row(bool has_first);
    void write_terms(const search_hit& hit, bool has_first);
    void write_duplicates(const search_hit& hit, bool has_first);

    hit_columns columns_;
    bool in_table_;
    bool terms_below_, duplicates_below_, snippets_below_;  ///< in rows below a hit
    row_writer rows_;
    std::vector<cell> cells_;
    std::vector<std::string> words_;  ///< to be marked
};

}  // namespace quern::cli
