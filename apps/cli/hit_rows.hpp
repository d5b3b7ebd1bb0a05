// SPDX-License-Identifier: Apache-2.0
// The hits of quern search as rows, with their explanations.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "output.hpp"
#include "quern/base/rows.hpp"
#include "quern/tasks/search.hpp"
#include "session.hpp"

namespace quern::cli {

/// rank, id, score, title, snippet, behind a first column where one is named. With explanations TSV and JSON lines have
/// a list in JSON as a last column; a table has a row for each term under its hit. Without them
/// a table has snippets on lines of their own under the hits, where there is room. Of a store that remembers copies a table
/// has them as rows under their hits, the first few of each, and JSON lines
/// have members `copies` and `copy_count`.
class hit_rows {
  public:
    hit_rows(session& run, output& to, bool explained, bool copies, const char* first = nullptr);
    void write(const search_answer& answer, std::optional<cell> first = {});
    void finish() { rows_.finish(); }

  private:
    void begin_lower_row(bool has_first);
    void write_terms(const search_hit& hit, bool has_first);
    void write_copies(const search_hit& hit, bool has_first);

    bool in_column_, in_rows_;  // where explanations go
    bool copies_in_column_, copies_in_rows_;
    bool snippets_below_;
    row_writer rows_;
    std::vector<cell> cells_;
};

}  // namespace quern::cli
