// SPDX-License-Identifier: Apache-2.0
// Results as rows: TSV, JSON lines, or an aligned table for people.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace quern {

enum class row_format { tsv, jsonl, table };

/// A value in JSON, as it stands: a list or an object in JSON lines, its text in TSV and in a table.
struct raw_json {
    std::string_view text;
};

/// std::monostate: nothing, an empty field of a table or of TSV, null in JSON.
using cell =
    std::variant<std::string_view, std::int64_t, std::uint64_t, double, float, std::monostate, raw_json>;

/// The shortest decimal that reads back to the same value of its type; `nan`, `inf`, `-inf`.
std::string shortest(double value);
std::string shortest(float value);

/// Appends a value as rows of JSON lines hold it.
void append_json(std::string& out, const cell& value);

/// Writes rows to a sink. Whatever the cells hold, what comes out is well-formed UTF-8: an ill-formed
/// sequence becomes U+FFFD. TSV: no header, LF; tab, CR and LF inside a field become one space, a run of them
/// too. JSON lines: column names as keys; not-a-number and infinities as null. Table: headings, columns
/// aligned by display width, numbers to the right and rounded for reading, control characters as spaces; held
/// back until finish(). Rows wider than `width` have their longest texts cut.
class row_writer {
  public:
    using sink = std::function<void(std::string_view)>;
    /// `width`: columns of the terminal; 0: nothing is cut.
    row_writer(row_format format, std::vector<std::string> columns, sink out, unsigned width = 0);
    void row(const std::vector<cell>& cells);
    /// Of a table: text on lines of its own under the last row, indented, broken at blanks where the table has a width;
    /// of the other forms nothing.
    void text_below(std::string_view text);
    /// Writes what is held back. A table may be begun again afterwards, with its headings.
    void finish();

  private:
    struct text_cell {
        std::string text;
        bool number;
    };
    void write_table();

    row_format format_;
    std::vector<std::string> columns_;
    sink out_;
    unsigned width_;
    std::string line_;
    struct held_row {
        std::vector<text_cell> cells;
        std::string below;
    };
    std::vector<held_row> held_;
};

/// One line of a TREC run, LF included: `topic Q0 document rank score tag`. Fields are separated by spaces,
/// so white space inside a topic or a document becomes `_`.
void append_run_line(std::string& out, std::string_view topic, std::string_view document, std::uint64_t rank,
                     double score, std::string_view tag = "quern");

/// The first id, of those given, that a TREC run would write like another one of them, because white space
/// becomes `_`, and that other one. Cost: O(ids), and memory for the ids that a run changes.
std::optional<std::pair<std::string_view, std::string_view>> alike_in_run(
    std::span<const std::string_view> ids);

}  // namespace quern
