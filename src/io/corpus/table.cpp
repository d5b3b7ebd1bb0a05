// SPDX-License-Identifier: Apache-2.0
// Documents as the rows of a table whose first record names the columns: TSV, a row a line, and CSV, whose quotes may
// contain line ends. The heading is known before any unit is parsed, so that units stay independent of each other.
#include <algorithm>
#include <string>
#include <utility>

#include "io/corpus/encoding.hpp"
#include "io/corpus/record_reader.hpp"
#include "io/corpus/table_columns.hpp"

namespace quern::io {
namespace {

class table_rows {
  public:
    table_rows(std::string heading, char separator)
        : heading_(std::make_shared<const std::string>(std::move(heading) + '\n')),
          columns_(table_columns::of(
                       fields_of(std::string_view(*heading_).substr(0, heading_->size() - 1), separator))
                       .value()) {}

    std::size_t column_count() const { return columns_.count; }

    /// `record`: with its line end.
    void take(std::vector<std::string>& fields, std::string_view record, const unit_position& position,
              std::uint64_t line, parsed_unit& out) const {
        if (fields.size() != columns_.count) {
            return reject(out, position.path, line,
                          std::to_string(fields.size()) + " fields, where the heading has " +
                              std::to_string(columns_.count));
        }
        document made;
        made.is_numbered = columns_.id == table_columns::absent;
        made.id = made.is_numbered ? position.id_of_line(line) : std::move(fields[columns_.id]);
        if (made.id.empty()) return reject(out, position.path, line, "the id is empty");
        if (!is_utf8(made.id)) return reject(out, position.path, line, "the id is not UTF-8");
        made.text = std::move(fields[columns_.text]);
        std::string done = repair_utf8(made.text);
        if (columns_.title != table_columns::absent) {
            made.title = std::move(fields[columns_.title]);
            if (std::string more = repair_utf8(made.title); done.empty()) done = std::move(more);
        }
        if (!done.empty()) repair(out, position.path, line, std::move(done));
        if (position.keep_records) {
            made.record = record;
            made.record_kind = document::record_form::table;
            made.record_heading = heading_;
        }
        keep(out, std::move(made), position.path, line);
    }

  private:
    std::shared_ptr<const std::string> heading_;  ///< with a line end
    table_columns columns_;
};

class headed_tsv final : public line_form {
  public:
    explicit headed_tsv(std::string heading) : rows_(std::move(heading), '\t') {}

  private:
    void parse_line(std::string_view line, const unit_position& position, std::uint64_t number,
                    parsed_unit& out) const override {
        if (number == 1) return;
        std::vector<std::string> fields;
        split_tabs(line, rows_.column_count(), fields);
        rows_.take(fields, line, position, number, out);  // line_form fills in the record
    }
    table_rows rows_;
};

class csv final : public record_form {
  public:
    explicit csv(std::string heading) : rows_(std::move(heading), ',') {}

    std::size_t last_end(std::string_view bytes) const override {
        std::size_t last = 0;
        while (const std::size_t length = csv_record_end(bytes.substr(last))) last += length;
        return last;
    }
    std::size_t first_end(std::string_view bytes) const override { return csv_record_end(bytes); }
    std::size_t end_within(std::string_view bytes) const override { return bytes.find('\n') + 1; }
    std::size_t end_mark_bytes() const override { return 1; }
    std::unique_ptr<record_skipper> skipper() const override {
        class quoted_skipper final : public record_skipper {
          public:
            std::size_t end_in(std::string_view piece) override { return scan_.end_in(piece); }

          private:
            csv_scan scan_;
        };
        return std::make_unique<quoted_skipper>();
    }

    void parse(std::string_view bytes, const unit_position& position, parsed_unit& out) const override {
        std::uint64_t line = position.first_line;
        std::vector<std::string> fields;
        while (!bytes.empty()) {
            const std::size_t end = csv_record_end(bytes);
            const std::string_view whole = bytes.substr(0, end == 0 ? bytes.size() : end);
            bytes.remove_prefix(whole.size());
            const std::uint64_t number = line;
            line += static_cast<std::uint64_t>(std::count(whole.begin(), whole.end(), '\n'));
            std::string_view record = whole;
            if (record.ends_with('\n')) record.remove_suffix(1);
            if (record.ends_with('\r')) record.remove_suffix(1);
            if (record.empty()) continue;
            if (whole.size() > position.limit.bytes) {
                reject(out, position.path, number, position.limit.reason());
            } else if (number == 1) {
                continue;  // the heading
            } else if (!split_csv(record, fields)) {
                // Everything that follows is in that field, and the number of documents in it is unknown.
                note(out, {position.path, number, "a quoted field has no closing quote", true, false, true});
            } else {
                rows_.take(fields, whole, position, number, out);
            }
        }
    }

  private:
    table_rows rows_;
};

}  // namespace

std::shared_ptr<const record_form> table_form(std::string heading, char separator) {
    if (separator == ',') return std::make_shared<csv>(std::move(heading));
    return std::make_shared<headed_tsv>(std::move(heading));
}

}  // namespace quern::io
