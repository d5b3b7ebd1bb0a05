// SPDX-License-Identifier: Apache-2.0
// Results as rows: TSV, JSON lines, or an aligned table for people.
#pragma once

#include <cstddef>
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

/// A JSON value, written unchanged: a list or an object in JSON lines, its text in TSV and tables.
struct raw_json {
    std::string_view text;
};

/// A range of a text, in bytes.
struct text_mark {
    std::size_t begin = 0, end = 0;
};

/// A text with some words in bold (row_writer::emphasise). The marks are in order and do not overlap.
struct marked_text {
    std::string_view text;
    std::span<const text_mark> marks;
};

/// std::monostate: an empty field in tables and TSV, null in JSON.
using cell = std::variant<std::string_view, std::int64_t, std::uint64_t, double, float, std::monostate,
                          raw_json, marked_text>;

/// The shortest decimal that reads back to the same value of its type; `nan`, `inf`, `-inf`.
std::string shortest(double value);
std::string shortest(float value);

/// Appends a value as it appears in JSON lines.
void append_json(std::string& out, const cell& value);

/// Writes rows to a sink. The output is always well-formed UTF-8: an ill-formed sequence becomes U+FFFD.
/// - TSV: no header, LF; any sequence of tab, CR and LF inside a field becomes one space.
/// - JSON lines: column names as keys; NaN and infinities as null.
/// - Table: headings, columns aligned by display width, numbers right-aligned and rounded, control characters as spaces;
///   buffered until finish(). In rows wider than `width` the longest texts are truncated or wrapped (wrap).
class row_writer {
  public:
    using sink = std::function<void(std::string_view)>;
    /// `width`: columns of the terminal; 0: no limit.
    row_writer(row_format format, std::vector<std::string> columns, sink out, unsigned width = 0);
    /// wrap() and emphasise(): before the first row, for tables only. Wraps long texts at blanks instead of
    /// truncating them.
    void wrap() { wraps_ = true; }
    /// Shows marks in bold, with terminal escape sequences.
    void emphasise() { emphasises_ = true; }
    bool emphasises() const { return emphasises_; }

    void row(const std::vector<cell>& cells);
    /// In a table: indented text on separate lines below the last row, wrapped at blanks if the table has a
    /// width. No effect in other formats.
    void text_below(const marked_text& text);
    void text_below(std::string_view text) { text_below(marked_text{text, {}}); }
    /// Writes the buffered rows. A new table with headings may follow.
    void finish();

  private:
    struct text_cell {
        std::string text;
        bool number;
    };
    struct layout {
        std::vector<std::size_t> widths;
        std::vector<bool> numeric;
    };
    void write_table();
    void write_line(const layout& columns, const std::vector<std::string_view>& cells);
    void write_wrapped(const layout& columns, std::vector<std::string_view> rest);
    std::string shown(const marked_text& text) const;

    row_format format_;
    bool wraps_ = false, emphasises_ = false;
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

/// Appends one line of a TREC run, including LF: `topic Q0 document rank score tag`. Fields are separated by
/// spaces, so white space inside a topic or a document becomes `_`.
void append_run_line(std::string& out, std::string_view topic, std::string_view document, std::uint64_t rank,
                     double score, std::string_view tag = "quern");

/// The first of the given ids that looks the same as another one in a TREC run, because white space becomes
/// `_`, and that other one. Cost: O(ids), and memory for the ids that a run changes.
std::optional<std::pair<std::string_view, std::string_view>> alike_in_run(
    std::span<const std::string_view> ids);

}  // namespace quern
