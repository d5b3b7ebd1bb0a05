// SPDX-License-Identifier: Apache-2.0
#include "server/target.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "quern/base/error.hpp"

namespace quern::server {
namespace {

int hexadecimal(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

std::optional<bool> truth(std::string_view text) {
    if (text == "1" || text == "true") return true;
    if (text == "0" || text == "false") return false;
    return {};
}

}  // namespace

std::optional<std::string> percent_decoded(std::string_view text, bool plus_is_blank) {
    std::string decoded;
    decoded.reserve(text.size());
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] == '+' && plus_is_blank) {
            decoded += ' ';
        } else if (text[i] != '%') {
            decoded += text[i];
        } else {
            const int high = i + 1 < text.size() ? hexadecimal(text[i + 1]) : -1;
            const int low = i + 2 < text.size() ? hexadecimal(text[i + 2]) : -1;
            if (high < 0 || low < 0) return {};
            decoded += static_cast<char>(high * 16 + low);
            i += 2;
        }
    }
    return decoded;
}

std::string media_type(std::string_view header) {
    std::string type(header.substr(0, header.find(';')));
    while (type.ends_with(' ') || type.ends_with('\t')) type.pop_back();
    for (char& c : type)
        if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    return type;
}

target_parts split_target(std::string_view target) {
    const std::size_t query_start = target.find('?');
    if (query_start == std::string_view::npos) return {target, {}};
    return {target.substr(0, query_start), target.substr(query_start + 1)};
}

namespace {

/// Removes the first pair of a name and a value, as sent; nothing at the end.
std::optional<std::pair<std::string_view, std::string_view>> take_pair(std::string_view& query) {
    query.remove_prefix(std::min(query.find_first_not_of('&'), query.size()));
    if (query.empty()) return {};
    const std::string_view pair = query.substr(0, query.find('&'));
    query.remove_prefix(pair.size());
    const std::size_t equals = std::min(pair.find('='), pair.size());
    return std::pair{pair.substr(0, equals), pair.substr(std::min(pair.size(), equals + 1))};
}

}  // namespace

std::optional<std::string> value_in(std::string_view query, std::string_view name) {
    while (const auto pair = take_pair(query)) {
        if (percent_decoded(pair->first, true) == name) return percent_decoded(pair->second, true);
    }
    return {};
}

parameters::parameters(std::string_view query, std::span<const api_parameter> known) : known_(known) {
    while (const auto pair = take_pair(query)) {
        auto name = percent_decoded(pair->first, true);
        auto value = percent_decoded(pair->second, true);
        if (!name || !value)
            throw bad_request("a % in the parameters is not followed by two hexadecimal digits");
        add(std::move(*name), std::move(*value));
    }
}

parameters::parameters(const parameter_values& values, std::span<const api_parameter> known) : known_(known) {
    for (const auto& [name, value] : values) add(name, value);
}

void parameters::add(std::string name, std::string value) {
    if (find(name) == nullptr) refuse_unknown(name);
    if (text(name)) throw bad_request(fmt::format("{} is given twice", name));
    values_.emplace_back(std::move(name), std::move(value));
}

std::optional<std::string_view> parameters::text(std::string_view name) const {
    const auto at = std::ranges::find(values_, name, &std::pair<std::string, std::string>::first);
    if (at == values_.end()) return {};
    return at->second;
}

const api_parameter* parameters::find(std::string_view name) const {
    const auto at = std::ranges::find_if(
        known_, [name](const api_parameter& p) { return !p.in_path && p.about.name == name; });
    return at == known_.end() ? nullptr : &*at;
}

void parameters::refuse_unknown(std::string_view name) const {
    std::string names;
    for (const api_parameter& p : known_)
        if (!p.in_path) names.append(names.empty() ? "" : ", ").append(p.about.name);
    if (names.empty()) throw bad_request("this address takes no parameters");
    throw bad_request(fmt::format("unknown parameter '{}' (expected one of {})", name, names));
}

std::optional<option_value> parameters::value_of(std::string_view name) const {
    const api_parameter* const parameter = find(name);
    const auto given = text(name);
    if (parameter == nullptr || !given) return {};
    if (parameter->about.kind == option_kind::flag) {
        if (const auto yes = truth(*given)) return *yes;
        throw bad_request(fmt::format("{}: invalid value '{}' (expected 1, 0, true or false)", name, *given));
    }
    try {
        return parse_value(parameter->about, *given);
    } catch (const usage_error& e) {
        throw bad_request(fmt::format("{}: {}", name, e.what()));
    }
}

}  // namespace quern::server
