// SPDX-License-Identifier: Apache-2.0
// Documents as the rows of a table whose first record names the columns: TSV, a row a line, and CSV, whose quotes may
// contain line ends. The heading is known before any unit is parsed, so that units stay independent of each other.
#include <algorithm>
#include <string>
#include <utility>

#include "io/corpus/encoding.hpp"
#include "io/corpus/json_repairs.hpp"
#include "io/corpus/json_scan.hpp"
#include "io/corpus/kept_fields.hpp"
#include "io/corpus/record_reader.hpp"
#include "io/corpus/table_columns.hpp"
#include "io/lines/line_ends.hpp"

namespace quern::io {
namespace {

/// The ids in a cell: a JSON array of strings or integers, or words between blanks. False if it is a malformed array.
bool take_links(std::string_view cell, std::vector<std::string>& links, const reading_budget& budget) {
    const auto is_blank = [](char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; };
    while (!cell.empty() && is_blank(cell.front())) cell.remove_prefix(1);
    if (cell.starts_with('[')) {
        if (!is_json(cell)) return false;
        for (json_parts parts(json_value::of_line(cell)); parts.next();) {
            const json_value link = parts.value();
            if (!link.is_string() && !link.is_integer()) return false;
            add_link(links, link.is_string() ? link.text() : std::string(link.bytes()), budget);
        }
        return true;
    }
    while (!cell.empty()) {
        const auto end = static_cast<std::size_t>(std::ranges::find_if(cell, is_blank) - cell.begin());
        if (end != 0) add_link(links, std::string(cell.substr(0, end)), budget);
        cell.remove_prefix(std::min(end + 1, cell.size()));
    }
    return true;
}

class table_rows {
  public:
    table_rows(std::string beginning, char separator, const document_fields& fields)
        : beginning_(std::make_shared<const std::string>(std::move(beginning))),
          first_row_(1 + count_line_ends(*beginning_)) {
        const std::vector<std::string> names = fields_of(heading_of(*beginning_), separator);
        columns_ = table_columns::of(names, fields).value();
        if (!fields.any_chosen() && fields.kept.empty()) return;
        named_.any_record = true;
        for (const std::size_t number : columns_.found) named_.saw(number);
        for (std::size_t i = 0; i < std::min(names.size(), named_members::max_found); ++i) {
            named_.found.push_back(names[i].substr(0, 40));
            repair_utf8(named_.found.back());
        }
    }

    std::size_t column_count() const { return columns_.count; }
    std::uint64_t first_row() const { return first_row_; }  ///< its line

    /// `record`: with its line end.
    void take(std::vector<std::string>& fields, std::string_view record, const unit_position& position,
              std::uint64_t line, parsed_unit& out) const {
        if (fields.size() != columns_.count) {
            return reject(out, position.path, line,
                          std::to_string(fields.size()) + " fields, where the heading has " +
                              std::to_string(columns_.count));
        }
        if (named_.any_record) out.named.add(named_);
        document made;
        made.is_numbered = columns_.id == table_columns::absent;
        made.id = made.is_numbered ? position.id_of_line(line) : fields[columns_.id];
        if (made.id.empty()) return reject(out, position.path, line, "the id is empty");
        if (!is_utf8(made.id)) return reject(out, position.path, line, "the id is not UTF-8");
        made.text = text_of(fields);
        std::string done = repair_utf8(made.text);
        fields_writer kept;
        for (const auto& [at, name] : columns_.kept)
            if (!fields[at].empty()) kept.add_cell(name, fields[at]);  // an empty cell is a missing value
        made.fields = kept.finish();
        if (columns_.links != table_columns::absent) {
            try {
                if (!take_links(fields[columns_.links], made.links, position.budget))
                    return reject(out, position.path, line,
                                  "the links are not a JSON array of strings or integers");
            } catch (const out_of_memory& why) {
                return reject_or_put_off(out, position, line, why);
            }
            for (std::string& link : made.links) repair_utf8(link);
        }
        if (columns_.title != table_columns::absent) {
            made.title = fields[columns_.title];
            if (std::string more = repair_utf8(made.title); done.empty()) done = std::move(more);
        }
        if (!done.empty()) repair(out, position.path, line, std::move(done));
        if (position.keep_records) {
            made.record = record;
            made.record_kind = document::record_form::table;
            made.record_heading = beginning_;
        }
        keep(out, std::move(made), position.path, line);
    }

  private:
    std::string text_of(std::vector<std::string>& fields) const {
        // A kept column keeps its value.
        if (columns_.text.size() == 1 && columns_.kept.empty())
            return std::move(fields[columns_.text.front()]);
        std::string text;
        for (const std::size_t at : columns_.text) {
            if (fields[at].empty()) continue;
            text.append(text.empty() ? "" : "\n\n").append(fields[at]);
        }
        return text;
    }

    std::shared_ptr<const std::string> beginning_;
    std::uint64_t first_row_;
    table_columns columns_;
    named_members named_;  ///< of every row
};

class headed_tsv final : public line_form {
  public:
    headed_tsv(std::string beginning, const document_fields& fields)
        : rows_(std::move(beginning), '\t', fields) {}

  private:
    void parse_line(std::string_view line, const unit_position& position, std::uint64_t number,
                    parsed_unit& out) const override {
        if (number < rows_.first_row()) return;
        std::vector<std::string> fields;
        split_tabs(line, rows_.column_count(), fields);
        rows_.take(fields, line, position, number, out);  // line_form fills in the record
    }
    table_rows rows_;
};

class csv final : public record_form {
  public:
    csv(std::string beginning, char separator, const document_fields& fields)
        : separator_(separator), rows_(std::move(beginning), separator, fields) {}

    std::size_t last_end(std::string_view bytes) const override {
        std::size_t last = 0;
        while (const std::size_t length = csv_record_end(bytes.substr(last), separator_)) last += length;
        return last;
    }
    std::size_t first_end(std::string_view bytes) const override { return csv_record_end(bytes, separator_); }
    std::size_t end_within(std::string_view bytes) const override { return bytes.find('\n') + 1; }
    std::size_t end_mark_bytes() const override { return 1; }
    std::unique_ptr<record_skipper> skipper() const override {
        class quoted_skipper final : public record_skipper {
          public:
            explicit quoted_skipper(char separator) : scan_(separator) {}
            std::size_t end_in(std::string_view piece) override { return scan_.end_in(piece); }

          private:
            csv_scan scan_;
        };
        return std::make_unique<quoted_skipper>(separator_);
    }

    void parse(std::string_view bytes, const unit_position& position, parsed_unit& out) const override {
        std::uint64_t line = position.first_line;
        std::vector<std::string> fields;
        while (!bytes.empty()) {
            const std::size_t end = csv_record_end(bytes, separator_);
            const std::string_view whole = bytes.substr(0, end == 0 ? bytes.size() : end);
            bytes.remove_prefix(whole.size());
            const std::uint64_t number = line;
            line += count_line_ends(whole);
            std::string_view record = whole;
            if (record.ends_with('\n')) record.remove_suffix(1);
            if (record.ends_with('\r')) record.remove_suffix(1);
            if (record.empty()) continue;
            if (whole.size() > position.limit.bytes) {
                reject(out, position.path, number, position.limit.reason(whole.size()));
            } else if (number < rows_.first_row()) {
                continue;
            } else if (!split_csv(record, separator_, fields)) {
                // Everything that follows is in that field, and the number of documents in it is unknown.
                note(out, {position.path, number, "a quoted field has no closing quote", true, false, true});
            } else {
                rows_.take(fields, whole, position, number, out);
            }
        }
    }

  private:
    char separator_;
    table_rows rows_;
};

}  // namespace

std::shared_ptr<const record_form> table_form(std::string beginning, char separator,
                                              const document_fields& fields) {
    if (separator == '\t') return std::make_shared<headed_tsv>(std::move(beginning), fields);
    return std::make_shared<csv>(std::move(beginning), separator, fields);
}

}  // namespace quern::io
