// SPDX-License-Identifier: Apache-2.0
#include "server/json_values.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

namespace quern::server {
namespace {

constexpr int max_body_depth = 2;  // a list within the object

/// Throws bad_request.
nlohmann::json parsed_body(std::string_view body) {
    std::set<std::string> names;
    const auto check = [&names](int depth, nlohmann::json::parse_event_t event, const nlohmann::json& value) {
        if (depth > max_body_depth)
            throw bad_request("the body is nested too deeply (expected an object of parameters)");
        if (event == nlohmann::json::parse_event_t::key && !names.insert(value.get<std::string>()).second)
            throw bad_request(fmt::format("{} is given twice", value.get<std::string>()));
        return true;
    };
    const auto invalid_at = [](std::size_t byte) {
        return bad_request(
            fmt::format("invalid JSON at byte {} of the body (expected an object of parameters)", byte));
    };
    // nlohmann::json would take it for the end.
    if (const std::size_t nul = body.find('\0'); nul != std::string_view::npos) throw invalid_at(nul + 1);
    nlohmann::json object;
    try {
        object = nlohmann::json::parse(body, check);
    } catch (const nlohmann::json::parse_error& e) {
        throw invalid_at(e.byte);
    } catch (const nlohmann::json::exception&) {
        throw bad_request("invalid JSON in the body: a number is too large");
    }
    if (!object.is_object()) throw bad_request("the body must be a JSON object with the parameters");
    return object;
}

bool is_vector(const nlohmann::json& value) {
    return value.is_array() &&
           std::ranges::all_of(value, [](const nlohmann::json& v) { return v.is_number(); });
}

}  // namespace

std::string_view json_type_of(const option_description& about) {
    switch (about.kind) {
        case option_kind::flag:
            return "true or false";
        case option_kind::whole:
            return "a whole number";
        case option_kind::number:
            return "a number";
        default:
            return "a string";
    }
}

std::optional<std::string> text_of(const nlohmann::json& value, const option_description& about) {
    switch (about.kind) {
        case option_kind::flag:
            if (!value.is_boolean()) return {};
            return value.get<bool>() ? "1" : "0";
        case option_kind::whole:
            if (value.is_number_integer()) return value.dump();
            if (value.is_number_float()) {  // 10.0 is an integer, too, in JSON Schema
                constexpr double exact = 0x1p53;
                const double number = value.get<double>();
                if (number == std::floor(number) && std::abs(number) <= exact)
                    return std::to_string(static_cast<std::int64_t>(number));
            }
            return {};
        case option_kind::number:
            if (!value.is_number()) return {};
            return value.dump();
        default:
            if (!value.is_string()) return {};
            return value.get<std::string>();
    }
}

parameter_values values_of_body(std::string_view body, std::span<const api_parameter> known) {
    parameter_values values;
    const nlohmann::json object = parsed_body(body);
    for (const auto& [name, value] : object.items()) {
        const auto at = std::ranges::find(known, name, [](const api_parameter& p) { return p.about.name; });
        std::optional<std::string> text;
        if (at == known.end()) {
            text.emplace();  // `parameters` refuses the name
        } else if (name == "vector") {
            if (is_vector(value)) text = value.dump();
        } else {
            text = text_of(value, at->about);
        }
        if (!text)
            throw bad_request(fmt::format("{} must be {}", name,
                                          name == "vector" ? "a list of numbers" : json_type_of(at->about)));
        values.emplace_back(name, std::move(*text));
    }
    return values;
}

}  // namespace quern::server
