// SPDX-License-Identifier: Apache-2.0
// The accepted names of JSON members and table columns: one list for all readers.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "quern/base/field_names.hpp"

namespace quern::io {

enum class field : std::uint8_t { none, id, text, title, links };

using quern::id_names;
using quern::text_names;

struct named_field {
    field what = field::none;
    std::uint8_t rank = 0;  ///< in its list; the smaller takes precedence
};

inline named_field field_named(std::string_view name) {
    constexpr std::size_t shortest = 2, longest = 11;  // of all names
    if (name.size() < shortest || name.size() > longest) return {};
    for (std::size_t i = 0; i < text_names.size(); ++i) {
        if (name == text_names[i]) return {field::text, static_cast<std::uint8_t>(i)};
    }
    for (std::size_t i = 0; i < id_names.size(); ++i) {
        if (name == id_names[i]) return {field::id, static_cast<std::uint8_t>(i)};
    }
    if (name == "title") return {field::title, 0};
    if (name == "links") return {field::links, 0};
    return {};
}

/// `"text" (or "contents", "content", "body")`
template <std::size_t Count>
std::string expected_names(const std::array<std::string_view, Count>& names) {
    std::string said = "\"" + std::string(names[0]) + "\" (or ";
    for (std::size_t i = 1; i < names.size(); ++i)
        said.append(i == 1 ? "\"" : ", \"").append(names[i]).append("\"");
    return said + ")";
}

}  // namespace quern::io
