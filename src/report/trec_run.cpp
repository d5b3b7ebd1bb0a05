// SPDX-License-Identifier: Apache-2.0
#include <string>

#include "quern/base/rows.hpp"
#include "report/utf8.hpp"

namespace quern {
namespace {

void append_field(std::string& out, std::string_view field) {
    for (std::size_t i = 0; i < field.size();) {
        const char32_t c = report::next_code_point(field, i);
        // Readers of runs split at what isspace() names in the C locale.
        const bool space = c == ' ' || (c >= '\t' && c <= '\r');
        report::append_code_point(out, space ? U'_' : c);
    }
}

}  // namespace

void append_run_line(std::string& out, std::string_view topic, std::string_view document, std::uint64_t rank,
                     double score, std::string_view tag) {
    append_field(out, topic);
    out += " Q0 ";
    append_field(out, document);
    out.append(" ").append(std::to_string(rank)).append(" ").append(shortest(score)).append(" ");
    append_field(out, tag);
    out += '\n';
}

}  // namespace quern
