// SPDX-License-Identifier: Apache-2.0
#include "tasks/dedup/record_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "io/corpus/record_reader.hpp"
#include "io/corpus/record_text.hpp"
#include "io/corpus/table_columns.hpp"
#include "quern/base/error.hpp"
#include "report/json.hpp"

namespace quern {

std::string json_record(const document& d) {
    using report::append_json_string;
    std::string line;
    line.reserve(d.id.size() + d.title.size() + d.text.size() + d.text.size() / 16 +
                 64);  // more if much is escaped
    line += "{\"id\":";
    append_json_string(line, d.id);
    if (!d.title.empty()) {
        line += ",\"title\":";
        append_json_string(line, d.title);
    }
    line += ",\"text\":";
    append_json_string(line, d.text);
    if (!d.links.empty()) {
        line += ",\"links\":";
        for (std::size_t i = 0; i < d.links.size(); ++i) {
            line += i == 0 ? '[' : ',';
            append_json_string(line, d.links[i]);
        }
        line += ']';
    }
    line += "}\n";
    return line;
}

namespace {

/// `record` as parsed by `form`; nothing if it fails.
std::optional<document> read_record(const io::record_form& form, std::string record) {
    const std::size_t bytes = record.size();
    record.resize(bytes + io::unit_padding);
    io::parsed_unit parsed;
    io::unit_position position;
    position.first_line = std::uint64_t{1} << 32U;  // after any heading
    form.parse(std::string_view(record).substr(0, bytes), position, parsed);
    if (parsed.documents.size() != 1) return std::nullopt;
    return std::move(parsed.documents.front());
}

constexpr std::uint8_t json_kind = 0, tsv_kind = 1, path_kind = 2, first_table_kind = 3;
constexpr std::size_t max_headings = 250;

}  // namespace

/// Rows under too many different headings become JSON lines at once.
std::uint8_t record_file::kind_of(const document& d) {
    if (d.record.empty() || d.record_kind == document::record_form::json) return json_kind;
    if (d.record_kind == document::record_form::tsv) return tsv_kind;
    if (d.record_kind == document::record_form::path) return path_kind;
    const auto same = [&](const auto& heading) {
        return io::heading_of(*heading) == io::heading_of(*d.record_heading) &&
               io::table_separator(*heading) == io::table_separator(*d.record_heading);
    };
    const auto at = std::ranges::find_if(headings_, same);
    const auto number = static_cast<std::size_t>(at - headings_.begin());
    if (at == headings_.end() && number == max_headings) return json_kind;
    if (at == headings_.end()) headings_.push_back(d.record_heading);
    return static_cast<std::uint8_t>(first_table_kind + number);
}

void record_file::append(const document& d) {
    const std::uint64_t begin = ends_.empty() ? 0 : ends_.back();
    const std::uint8_t kind = kind_of(d);
    if (kind == path_kind && d.record.find('\n') + 1 != d.record.size()) {
        throw usage_error(
            fmt::format("{}: a path with a line end cannot be written to a list of paths; "
                        "--groups FILE with --format jsonl writes it",
                        d.path));
    }
    const bool is_line =
        !d.record.empty() && (kind != json_kind || d.record_kind == document::record_form::json);
    std::string made;
    if (!is_line) made = json_record(d);
    const std::string_view record = is_line ? std::string_view(d.record) : made;
    file_.append(record);
    // The last line of a file may lack its end, and need not be written last.
    const bool open = !record.ends_with('\n');
    if (open) file_.append("\n");
    ends_.push_back(begin + record.size() + (open ? 1 : 0));
    mixed_ = mixed_ || (!kinds_.empty() && kinds_.front() != kind);
    kinds_.push_back(kind);
}

void record_file::write(const std::function<bool(std::size_t)>& wanted,
                        const std::function<std::string_view(std::size_t)>& id_of,
                        const std::function<void(std::string_view)>& out, const new_text& text_of) {
    constexpr std::uint64_t piece_bytes = 1 << 20;
    file_.flush();
    if (mixed_) return write_converted(wanted, id_of, out, text_of);
    if (!kinds_.empty() && kinds_.front() >= first_table_kind)
        out(*headings_[kinds_.front() - first_table_kind]);
    std::string piece;
    const auto copy = [&](std::uint64_t begin, std::uint64_t end) {
        while (begin < end) {
            piece.resize(std::min(piece_bytes, end - begin));
            file_.read_at(begin, piece);
            out(piece);
            begin += piece.size();
        }
    };
    // Neighbouring records that are kept are copied together.
    std::uint64_t begin = 0, end = 0;
    for (std::size_t i = 0; i < ends_.size(); ++i) {
        if (!wanted(i)) continue;
        const std::uint64_t from = i == 0 ? 0 : ends_[i - 1];
        if (const auto text = text_of ? text_of(i) : std::nullopt) {
            copy(begin, end);
            out(edited(record_at(i), kinds_[i], *text));
            begin = end = ends_[i];
            continue;
        }
        if (from != end) {
            copy(begin, end);
            begin = from;
        }
        end = ends_[i];
    }
    copy(begin, end);
}

void record_file::write_converted(const std::function<bool(std::size_t)>& wanted,
                                  const std::function<std::string_view(std::size_t)>& id_of,
                                  const std::function<void(std::string_view)>& out, const new_text& text_of) {
    std::vector<std::shared_ptr<const io::record_form>> forms(first_table_kind);
    forms[tsv_kind] = io::tsv_form();
    for (const auto& heading : headings_) {
        forms.push_back(heading->empty() ? io::text_paragraphs_form()  // reads a line of text, too
                                         : io::table_form(*heading, io::table_separator(*heading), fields_));
    }
    for (std::size_t i = 0; i < ends_.size(); ++i) {
        if (!wanted(i)) continue;
        const std::string record = record_at(i);
        const auto text = text_of ? text_of(i) : std::nullopt;
        if (kinds_[i] == json_kind || kinds_[i] == path_kind) {
            out(text ? edited(record, kinds_[i], *text) : record);
            continue;
        }
        document d = read_record(*forms[kinds_[i]], record).value();
        d.id = id_of(i);
        if (text) d.text = *text;
        out(json_record(d));
    }
}

std::string record_file::record_at(std::size_t i) {
    const std::uint64_t begin = i == 0 ? 0 : ends_[i - 1];
    std::string record(ends_[i] - begin, '\0');
    file_.read_at(begin, record);
    return record;
}

std::string record_file::edited(std::string_view record, std::uint8_t kind, std::string_view text) const {
    using form = document::record_form;
    if (kind == path_kind) throw usage_error("a path has no text");
    if (kind < first_table_kind)
        return io::with_text(record, kind == json_kind ? form::json : form::tsv, {}, text, fields_);
    return io::with_text(record, form::table, *headings_[kind - first_table_kind], text, fields_);
}

}  // namespace quern
