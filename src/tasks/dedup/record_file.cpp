// SPDX-License-Identifier: Apache-2.0
#include "tasks/dedup/record_file.hpp"

#include <algorithm>
#include <string>

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
}

void record_file::write(const std::function<bool(std::size_t)>& wanted,
                        const std::function<void(std::string_view)>& out) {
    constexpr std::uint64_t piece_bytes = 1 << 20;
    file_.flush();
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

}  // namespace quern
