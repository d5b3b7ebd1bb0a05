// SPDX-License-Identifier: Apache-2.0
#include "io/corpus/record_text.hpp"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>

#include "io/corpus/field_names.hpp"
#include "io/corpus/json_scan.hpp"
#include "io/corpus/table_columns.hpp"
#include "quern/base/error.hpp"

namespace quern::io {
namespace {

struct range {
    std::size_t begin = 0, end = 0;
};

/// The value that the reader took for the text: of the preferred name the last one.
std::string_view json_text(std::string_view line, const document_fields& fields) {
    const json_value record = json_value::of_line(line);
    if (!fields.text.empty()) return value_at(record, fields.text.front()).value().bytes();
    std::string_view found;
    std::uint8_t best = UINT8_MAX;
    for (json_parts parts(record); parts.next();) {
        const named_field named = field_named(parts.name());
        if (named.what != field::text || named.rank > best) continue;
        best = named.rank;
        found = parts.value().bytes();
    }
    return found;
}

range tab_field(std::string_view line, std::size_t number, std::size_t count) {
    range field;
    for (std::size_t i = 0; i < number; ++i) field.begin = line.find('\t', field.begin) + 1;
    field.end = number + 1 == count ? line.size() : line.find('\t', field.begin);
    return field;
}

/// As split_csv() divides a record.
range csv_field(std::string_view record, char separator, std::size_t number) {
    range field;
    for (std::size_t i = 0;; ++i) {
        std::size_t at = field.begin;
        if (at < record.size() && record[at] == '"') {
            ++at;
            while (true) {
                at = record.find('"', at) + 1;
                if (at >= record.size() || record[at] != '"') break;
                ++at;  // a doubled quote
            }
        }
        field.end = std::min(record.find(separator, at), record.size());
        if (i == number) return field;
        field.begin = field.end + 1;
    }
}

std::string quoted(std::string_view text) {
    std::string out = "\"";
    for (const char c : text) out.append(c == '"' ? 2 : 1, c);
    return out + '"';
}

/// A text as the record of plain text.
std::string plain_record(std::string_view record, std::string_view text) {
    std::string made;
    if (!ends_with_empty_line(record)) {
        made = text;
        std::ranges::replace_if(
            made, [](char c) { return c == '\n' || c == '\r'; }, ' ');
        return made.append(record.substr(without_line_end(record).size()));
    }
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        const std::string_view line = without_line_end(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
        if (!line.empty()) made.append(line).append("\n");
    }
    return made + '\n';
}

}  // namespace

void mark_as_text(document& made) {
    static const std::string no_heading;
    made.record_kind = document::record_form::table;
    made.record_heading = {std::shared_ptr<const std::string>(), &no_heading};
}

bool ends_with_empty_line(std::string_view record) {
    return record.ends_with("\n\n") || record.ends_with("\n\r\n");
}

std::string with_text(std::string_view record, document::record_form form, std::string_view heading,
                      std::string_view text, const document_fields& fields) {
    if (fields.text.size() > 1) {
        throw usage_error("the text of " + std::to_string(fields.text.size()) +
                          " fields cannot be replaced (expected one --text-field)");
    }
    if (form == document::record_form::table && heading.empty()) return plain_record(record, text);
    const std::string_view line = without_line_end(record);
    range at;
    std::string made(text);
    if (form == document::record_form::json) {
        const std::string_view found = json_text(line, fields);
        at.begin = static_cast<std::size_t>(found.data() - record.data());
        at.end = at.begin + found.size();
        made = nlohmann::json(made).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
    } else if (form == document::record_form::tsv) {
        at = {line.find('\t') + 1, line.size()};
    } else {
        const char separator = table_separator(heading);
        const table_columns columns =
            table_columns::of(fields_of(heading_of(heading), separator), fields).value();
        const std::size_t column = columns.text.front();
        at = separator == '\t' ? tab_field(line, column, columns.count) : csv_field(line, separator, column);
        if (separator != '\t') made = quoted(text);
    }
    return std::string(record.substr(0, at.begin)).append(made).append(record.substr(at.end));
}

}  // namespace quern::io
