// SPDX-License-Identifier: Apache-2.0
#include "quern/base/document_fields.hpp"

#include <algorithm>

#include "base/utf8.hpp"
#include "quern/base/error.hpp"

namespace quern {
namespace {

std::string shown_name(std::string_view name) {
    return "'" + std::string(name.substr(0, 80)) + "'";
}

void check_name(std::string_view option, std::string_view name) {
    const auto refuse = [&](std::string_view why) {
        throw usage_error(std::string(option) + ": invalid value " + shown_name(name) + " (" +
                          std::string(why) + ")");
    };
    if (name.empty()) refuse("expected the name of a member or column");
    for (std::size_t at = 0; at < name.size();) {
        if (next_utf8(name, at) == ill_formed) refuse("expected UTF-8");
    }
    const auto dots = static_cast<std::size_t>(std::ranges::count(name, '.'));
    if (dots >= max_parts_of_a_field)
        refuse("expected at most " + std::to_string(max_parts_of_a_field) + " parts separated by dots");
}

void check_list(std::string_view option, const std::vector<std::string>& names, std::size_t max) {
    if (names.size() > max) {
        throw usage_error(std::string(option) + ": " + std::to_string(names.size()) +
                          " names (expected at most " + std::to_string(max) + ")");
    }
    std::vector<std::string_view> sorted(names.begin(), names.end());
    std::ranges::sort(sorted);
    const auto twice = std::ranges::adjacent_find(sorted);
    if (twice != sorted.end())
        throw usage_error(std::string(option) + ": " + shown_name(*twice) + " is given twice");
    for (const std::string& name : names) check_name(option, name);
}

}  // namespace

std::vector<std::string> parse_field_list(std::string_view text) {
    std::vector<std::string> names;
    for (std::size_t at = 0; at <= text.size();) {
        const std::size_t end = std::min(text.find(',', at), text.size());
        names.emplace_back(text.substr(at, end - at));
        at = end + 1;
    }
    return names;
}

std::string field_list_text(const std::vector<std::string>& names) {
    if (names.size() == 1 && names.front() == "*") return "all";
    std::string text;
    for (const std::string& name : names) text.append(text.empty() ? "" : ",").append(name);
    return text;
}

std::vector<std::pair<std::string_view, std::string>> named_fields(const document_fields& fields) {
    std::vector<std::pair<std::string_view, std::string>> names;
    if (!fields.id.empty()) names.emplace_back("id_field", fields.id);
    if (!fields.title.empty()) names.emplace_back("title_field", fields.title);
    if (!fields.links.empty()) names.emplace_back("link_field", fields.links);
    for (const std::string& name : fields.text) names.emplace_back("text_field", name);
    if (fields.keeps_all()) return names;
    for (const std::string& name : fields.kept) names.emplace_back("keep_fields", name);
    return names;
}

void check_fields(const document_fields& fields) {
    check_list("text_field", fields.text, max_text_fields);
    if (!fields.keeps_all()) check_list("keep_fields", fields.kept, max_kept_fields);
    for (const auto& [option, name] : named_fields(fields)) check_name(option, name);
}

}  // namespace quern
