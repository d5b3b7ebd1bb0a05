// SPDX-License-Identifier: Apache-2.0
#include "server/target.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "quern/base/error.hpp"

namespace quern::server {
namespace {

int hexadecimal(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

template <typename Value>
std::optional<Value> parsed(std::string_view text) {
    Value value{};
    const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (failure != std::errc() || end != text.data() + text.size()) return {};
    return value;
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

target_parts split_target(std::string_view target) {
    const std::size_t query_start = target.find('?');
    if (query_start == std::string_view::npos) return {target, {}};
    return {target.substr(0, query_start), target.substr(query_start + 1)};
}

parameters::parameters(std::string_view query, std::span<const std::string_view> known) {
    while (!query.empty()) {
        const std::string_view pair = query.substr(0, query.find('&'));
        query.remove_prefix(std::min(query.size(), pair.size() + 1));
        if (pair.empty()) continue;
        const std::size_t equals = std::min(pair.find('='), pair.size());
        auto name = percent_decoded(pair.substr(0, equals), true);
        auto value = percent_decoded(pair.substr(std::min(pair.size(), equals + 1)), true);
        if (!name || !value)
            throw bad_request("a % in the parameters is not followed by two hexadecimal digits");
        if (std::ranges::find(known, *name) == known.end()) {
            if (known.empty()) throw bad_request("this address takes no parameters");
            throw bad_request(
                fmt::format("unknown parameter '{}' (expected one of {})", *name, fmt::join(known, ", ")));
        }
        if (text(*name)) throw bad_request(fmt::format("{} is given twice", *name));
        values_.emplace_back(std::move(*name), std::move(*value));
    }
}

std::optional<std::string_view> parameters::text(std::string_view name) const {
    const auto at = std::ranges::find(values_, name, &std::pair<std::string, std::string>::first);
    if (at == values_.end()) return {};
    return at->second;
}

std::optional<std::uint64_t> parameters::integer(std::string_view name, std::uint64_t min,
                                                 std::uint64_t max) const {
    const auto given = text(name);
    if (!given) return {};
    const auto value = parsed<std::uint64_t>(*given);
    if (!value || *value < min || *value > max) {
        throw bad_request(fmt::format("{}: invalid value '{}' (expected an integer from {} to {})", name,
                                      *given, min, max));
    }
    return value;
}

std::optional<double> parameters::number(std::string_view name) const {
    const auto given = text(name);
    if (!given) return {};
    const auto value = parsed<double>(*given);
    if (!value) throw bad_request(fmt::format("{}: invalid value '{}' (expected a number)", name, *given));
    return value;
}

std::optional<bool> parameters::choice(std::string_view name) const {
    const auto given = text(name);
    if (!given) return {};
    if (*given == "1" || *given == "true") return true;
    if (*given == "0" || *given == "false") return false;
    throw bad_request(fmt::format("{}: invalid value '{}' (expected 1, 0, true or false)", name, *given));
}

std::optional<std::size_t> parameters::name(std::string_view name,
                                            std::span<const std::string_view> names) const {
    const auto given = text(name);
    if (!given) return {};
    const auto at = std::ranges::find(names, *given);
    if (at == names.end()) {
        throw bad_request(
            fmt::format("{}: invalid value '{}' (expected one of {})", name, *given, fmt::join(names, ", ")));
    }
    return static_cast<std::size_t>(at - names.begin());
}

}  // namespace quern::server
