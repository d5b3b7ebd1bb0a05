// SPDX-License-Identifier: Apache-2.0
#include "io/corpus/fixed_fields.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

namespace quern::io {

bool fixed_fields::begin(std::string_view name) {
    const bool wanted =
        std::ranges::any_of(names_, [&](const std::string& each) { return each == "*" || each == name; });
    if (!wanted) return false;
    json_ += json_.empty() ? '{' : ',';
    json_.append("\"").append(name).append("\":");
    return true;
}

void fixed_fields::add(std::string_view name, std::string_view value) {
    if (value.empty() || !begin(name)) return;
    json_ +=
        nlohmann::json(std::string(value)).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

void fixed_fields::add_number(std::string_view name, unsigned value) {
    if (begin(name)) json_ += std::to_string(value);
}

std::string fixed_fields::take() {
    if (!json_.empty()) json_ += '}';
    return std::exchange(json_, {});
}

}  // namespace quern::io
