// SPDX-License-Identifier: Apache-2.0
// Tables with a heading, TSV or CSV: which column is what, and how a record is split into fields (RFC 4180 for commas and
// semicolons).
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "quern/base/document_fields.hpp"

namespace quern::io {

struct table_columns {
    static constexpr std::size_t absent = std::string_view::npos;
    std::size_t count = 0;
    std::vector<std::size_t> text;  ///< at least one; several are joined in this order
    std::size_t id = absent, title = absent, links = absent;
    struct kept_column {
        std::size_t at = 0;
        std::string name;
    };
    std::vector<kept_column> kept;
    std::vector<std::size_t> found;  ///< positions in named_fields() of the names that the heading has

    /// Detects the columns by the names in a heading, in any case: requires one for a text, and one for an id or a
    /// title. Of the columns that `fields` names it requires the id and one text. Empty: not a heading.
    static std::optional<table_columns> of(const std::vector<std::string>& names,
                                           const document_fields& fields = {});
};

/// The fields of a line; the last of `max` takes the rest, including tabs.
void split_tabs(std::string_view line, std::size_t max, std::vector<std::string>& fields);

/// Of CSV: the one that a first line `sep=;` names, as Excel writes and reads it; else by the heading: a semicolon if that
/// has one and no comma, else a comma.
char csv_separator(std::string_view head);

/// Of a table by its beginning: the one that a first line names, else a tab if the heading has one, else as above.
char table_separator(std::string_view beginning);

/// The bytes of a first line `sep=;`, with its end; 0 without one.
std::size_t separator_line(std::string_view head);

std::string_view without_line_end(std::string_view record);

/// The heading at the end of a table's beginning (document::record_heading), without its line end.
std::string_view heading_of(std::string_view beginning);

/// The end of the first record of `bytes`, after its line end; 0 if its end is not included. A line end between quotes
/// is part of a field.
std::size_t csv_record_end(std::string_view bytes, char separator);
/// The same over consecutive pieces of one record.
class csv_scan {
  public:
    explicit csv_scan(char separator) : ends_{separator, '\n'} {}
    std::size_t end_in(std::string_view piece);

  private:
    char ends_[2];  ///< of a field without quotes
    enum class state { field_begins, plain, quoted, after_quote } state_ = state::field_begins;
};
/// A record without its line end. False: its last field has an unclosed quote.
bool split_csv(std::string_view record, char separator, std::vector<std::string>& fields);

/// What stands before the first row of `head`: a line `sep=;`, if it has one, and the heading, with its line end. Empty if
/// the first record is not a heading. `whole`: nothing follows.
std::optional<std::string> table_beginning(std::string_view head, bool whole, char separator,
                                           const document_fields& fields = {});
/// Whether it begins CSV: with a heading, and a second record, if any, of as many fields. Lines of prose hardly ever
/// agree. A file whose name says that it is CSV needs only the heading.
bool looks_like_csv(std::string_view head, bool whole, const document_fields& fields = {});

/// The fields of a heading or a record.
std::vector<std::string> fields_of(std::string_view record, char separator);

}  // namespace quern::io
