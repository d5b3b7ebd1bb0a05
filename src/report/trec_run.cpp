// SPDX-License-Identifier: Apache-2.0
#include <charconv>
#include <iterator>
#include <string>
#include <unordered_map>

#include "quern/base/rows.hpp"
#include "report/utf8_output.hpp"

namespace quern {
namespace {

/// Printable ASCII stays unchanged; nearly every field consists of it.
bool is_plain(std::string_view field) {
    bool plain = true;
    for (const char c : field) plain &= c > ' ' && c <= '~';  // no early exit: vectorised, eight at a time
    return plain;
}

void append_field(std::string& out, std::string_view field) {
    if (is_plain(field)) {
        out += field;
        return;
    }
    for (std::size_t i = 0; i < field.size();) {
        const char32_t c = report::next_code_point(field, i);
        // Readers of runs split at what isspace() accepts in the C locale.
        const bool space = c == ' ' || (c >= '\t' && c <= '\r');
        report::append_code_point(out, space ? U'_' : c);
    }
}

}  // namespace

std::optional<std::pair<std::string_view, std::string_view>> alike_in_run(
    std::span<const std::string_view> ids) {
    // Two ids can collide only if at least one was changed, which is very rare.
    std::unordered_map<std::string, std::string_view> changed;
    std::string field;
    const auto written = [&](std::string_view id) -> const std::string& {
        field.clear();
        append_field(field, id);
        return field;
    };
    for (const std::string_view id : ids) {
        if (is_plain(id) || written(id) == id) continue;
        const auto [other, is_new] = changed.emplace(field, id);
        if (!is_new) return std::pair{id, other->second};
    }
    if (changed.empty()) return std::nullopt;
    for (const std::string_view id : ids) {
        if (written(id) != id) continue;
        if (const auto other = changed.find(field); other != changed.end())
            return std::pair{id, other->second};
    }
    return std::nullopt;
}

void append_run_line(std::string& out, std::string_view topic, std::string_view document, std::uint64_t rank,
                     double score, std::string_view tag) {
    append_field(out, topic);
    out += " Q0 ";
    append_field(out, document);
    out += ' ';
    char number[24];
    out.append(number, std::to_chars(std::begin(number), std::end(number), rank).ptr);
    out.append(" ").append(shortest(score)).append(" ");
    append_field(out, tag);
    out += '\n';
}

}  // namespace quern
