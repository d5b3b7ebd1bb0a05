// SPDX-License-Identifier: Apache-2.0
#include "tasks/dedup/record_file.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "io/corpus/record_reader.hpp"
#include "report/json.hpp"

namespace quern {
namespace {

std::string json_line(const document& d) {
    using report::append_json_string;
    std::string line = "{\"id\":";
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

/// `record` as `form` reads it; nothing where it does not.
std::optional<document> read_record(const io::record_form& form, std::string record) {
    const std::size_t bytes = record.size();
    record.resize(bytes + io::unit_padding);
    io::parsed_unit parsed;
    form.parse(std::string_view(record).substr(0, bytes), {}, parsed);
    if (parsed.documents.size() != 1) return std::nullopt;
    return std::move(parsed.documents.front());
}

/// A line of TSV begins with the id and a tab. One of JSON hardly ever does.
bool is_tsv(const document& d) {
    const std::string_view record = d.record;
    if (!record.starts_with(d.id) || !record.substr(d.id.size()).starts_with('\t')) return false;
    const auto first = record.find_first_not_of(" \t");
    return record[first] != '{' || !read_record(*io::jsonl_form(), d.record);
}

}  // namespace

void record_file::append(const document& d) {
    const std::uint64_t begin = ends_.empty() ? 0 : ends_.back();
    std::string made;
    if (d.record.empty()) made = json_line(d);
    const std::string_view record = d.record.empty() ? std::string_view(made) : d.record;
    file_.append(record);
    // The last line of a file may lack its end, and need not come out last.
    const bool open = !record.ends_with('\n');
    if (open) file_.append("\n");
    ends_.push_back(begin + record.size() + (open ? 1 : 0));
    is_tsv_.push_back(is_tsv(d));
    tsv_lines_ += is_tsv_.back() ? 1 : 0;
}

void record_file::write(const std::function<bool(std::size_t)>& wanted,
                        const std::function<void(std::string_view)>& out) {
    constexpr std::uint64_t piece_bytes = 1 << 20;
    file_.flush();
    if (tsv_lines_ != 0 && tsv_lines_ != ends_.size()) return write_converted(wanted, out);
    std::string piece;
    const auto copy = [&](std::uint64_t begin, std::uint64_t end) {
        while (begin < end) {
            piece.resize(std::min(piece_bytes, end - begin));
            file_.read_at(begin, piece);
            out(piece);
            begin += piece.size();
        }
    };
    // Neighbours that are kept are copied together.
    std::uint64_t begin = 0, end = 0;
    for (std::size_t i = 0; i < ends_.size(); ++i) {
        if (!wanted(i)) continue;
        const std::uint64_t from = i == 0 ? 0 : ends_[i - 1];
        if (from != end) {
            copy(begin, end);
            begin = from;
        }
        end = ends_[i];
    }
    copy(begin, end);
}

void record_file::write_converted(const std::function<bool(std::size_t)>& wanted,
                                  const std::function<void(std::string_view)>& out) {
    const auto tsv = io::tsv_form();
    std::string record;
    for (std::size_t i = 0; i < ends_.size(); ++i) {
        if (!wanted(i)) continue;
        const std::uint64_t begin = i == 0 ? 0 : ends_[i - 1];
        record.resize(ends_[i] - begin);
        file_.read_at(begin, record);
        out(is_tsv_[i] ? json_line(read_record(*tsv, record).value()) : record);
    }
}

}  // namespace quern
