// SPDX-License-Identifier: Apache-2.0
#include "io/graph/edge_lines.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "base/ascii.hpp"
#include "io/lines/text_blocks.hpp"

namespace quern::io {
namespace {

using namespace std::string_view_literals;

constexpr std::array<std::pair<std::string_view, std::string_view>, 9> ends = {{{"source"sv, "target"sv},
                                                                                {"from"sv, "to"sv},
                                                                                {"src"sv, "dst"sv},
                                                                                {"src"sv, "dest"sv},
                                                                                {"src"sv, "tgt"sv},
                                                                                {"source"sv, "destination"sv},
                                                                                {"start"sv, "end"sv},
                                                                                {"citing"sv, "cited"sv},
                                                                                {"node1"sv, "node2"sv}}};

/// "From_Node-ID" becomes "from".
std::string plain_name(std::string_view field) {
    std::string name = lower(trimmed(field));
    std::erase_if(name, [](char c) { return "_-:\" "sv.find(c) != std::string_view::npos; });
    for (const auto suffix : {"id"sv, "name"sv, "node"sv}) {
        if (name.size() > suffix.size() && name.ends_with(suffix)) name.resize(name.size() - suffix.size());
    }
    return name;
}

std::vector<std::string_view> fields_of(std::string_view line) {
    const char separator = line.find('\t') != line.npos ? '\t' : line.find(',') != line.npos ? ',' : ' ';
    std::vector<std::string_view> fields;
    while (!line.empty()) {
        const std::size_t end = std::min(line.find(separator), line.size());
        if (separator != ' ' || end != 0) fields.push_back(line.substr(0, end));
        line.remove_prefix(std::min(end + 1, line.size()));
    }
    return fields;
}

bool is_numeric(std::string_view field) {
    return field.find_first_of("0123456789") != field.npos &&
           field.find_first_not_of("0123456789+-.eE") == field.npos;
}

}  // namespace

bool is_edge_heading(std::string_view line) {
    const std::vector<std::string_view> fields = fields_of(trimmed(line));
    if (fields.size() < 2) return false;
    const auto is_number = [](std::string_view field) { return is_numeric(trimmed(field)); };
    if (std::any_of(fields.begin() + 2, fields.end(), is_number)) return false;
    return std::ranges::find(ends, std::pair<std::string_view, std::string_view>(
                                       plain_name(fields[0]), plain_name(fields[1]))) != ends.end();
}

void take_edge_heading(text_blocks& lines) {
    const std::string line(trimmed(lines.peek_line()));
    if (!is_edge_heading(line) || !lines.has_second_line()) return;
    lines.next_line();
    lines.ctx().log(log_level::info, lines.name() + ":1: taken as a heading: " + line);
}

}  // namespace quern::io
