// SPDX-License-Identifier: Apache-2.0
// The description of the API: web/openapi.json has everything but the version, and the parameters, which come from the tables of
// options.
#include <algorithm>
#include <cctype>

#include "server/api_parameter.hpp"
#include "server/json_writer.hpp"

namespace quern::server {
namespace {

bool is_word(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0;
}

void replace_all(std::string& text, std::string_view from, std::string_view to, bool whole_words) {
    for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at)) {
        const std::size_t end = at + from.size();
        const bool whole = (at == 0 || !is_word(text[at - 1])) && (end == text.size() || !is_word(text[end]));
        if (whole || !whole_words) text.replace(at, from.size(), to);
        at += whole || !whole_words ? to.size() : from.size();
    }
}

void write_number(json_writer& json, std::string_view name, double value) {
    if (value == value) json.member(name, value);  // NaN: there is no such bound
}

}  // namespace

const api_parameter& parameter_named(const std::vector<api_parameter>& all, std::string_view name) {
    return *std::ranges::find_if(all, [name](const api_parameter& p) { return p.about.name == name; });
}

std::string description_of(const api_parameter& parameter, const std::vector<api_parameter>& all) {
    const option_description& about = parameter.about;
    std::string text(about.help);
    for (const api_parameter& other : all) {
        std::string option = "--" + std::string(other.about.name);
        for (char& c : option) c = c == '_' ? '-' : c;
        replace_all(text, option, other.about.name, false);
    }
    if (about.value.size() == 1) replace_all(text, about.value, about.name, true);
    if (!about.note.empty()) {
        text += " By default " + value_text(about, parameter.initial) + "; ";
        text.append(about.note) += '.';
    }
    return text;
}

void write_schema_members(json_writer& json, const api_parameter& parameter, flag_form flags) {
    static constexpr std::string_view truth_names[] = {"0", "1", "false", "true"};
    const option_description& about = parameter.about;
    const bool has_default = about.note.empty() && !parameter.required;
    switch (about.kind) {
        case option_kind::flag: {
            const bool* const yes = std::get_if<bool>(&parameter.initial);
            if (flags == flag_form::boolean) {
                json.member("type", std::string_view("boolean"));
                if (yes != nullptr) json.flag("default", *yes);
                break;
            }
            json.member("type", std::string_view("string"));
            json.values("enum", truth_names);
            if (yes != nullptr) json.member("default", std::string_view(*yes ? "1" : "0"));
            break;
        }
        case option_kind::whole:
            json.member("type", std::string_view("integer"));
            json.member("minimum", about.whole.min);
            if (about.whole.max != whole_range{}.max) json.member("maximum", about.whole.max);
            if (has_default) json.member("default", std::get<std::uint64_t>(parameter.initial));
            break;
        case option_kind::number:
            json.member("type", std::string_view("number"));
            write_number(json, "minimum", about.number.min);
            write_number(json, "exclusiveMinimum", about.number.above);
            write_number(json, "maximum", about.number.max);
            write_number(json, "exclusiveMaximum", about.number.below);
            if (has_default) json.member("default", std::get<double>(parameter.initial));
            break;
        case option_kind::choice:
            json.member("type", std::string_view("string"));
            json.values("enum", about.names);
            json.member("default", std::string_view(value_text(about, parameter.initial)));
            break;
        default:
            json.member("type", std::string_view("string"));
            if (about.kind == option_kind::name) json.values("enum", about.names);
    }
}

namespace {

void write_example(json_writer& json, const api_parameter& parameter) {
    const option_description& about = parameter.about;
    if (about.kind == option_kind::whole || about.kind == option_kind::number) {
        const option_value value = parse_value(about, parameter.example);
        const auto* whole = std::get_if<std::uint64_t>(&value);
        json.member("example", whole != nullptr ? cell(*whole) : cell(std::get<double>(value)));
    } else {
        json.member("example", parameter.example);
    }
}

/// `stores`: the names of the server's stores.
std::string list_of(const std::vector<api_parameter>& parameters, std::span<const std::string_view> stores) {
    json_writer json;
    json.begin_list();
    for (api_parameter parameter : parameters) {
        if (parameter.about.name == "store" && !stores.empty()) {
            parameter.about.kind = option_kind::name;
            parameter.about.names = stores;
            parameter.example = stores.front();
        }
        const std::string description = description_of(parameter, parameters);
        json.begin_object();
        json.member("name", parameter.about.name);
        json.member("in", std::string_view(parameter.in_path ? "path" : "query"));
        if (parameter.required) json.flag("required", true);
        json.member("description", std::string_view(description));
        json.key("schema");
        json.begin_object();
        write_schema_members(json, parameter, flag_form::text);
        json.end_object();
        write_example(json, parameter);
        json.end_object();
    }
    json.end_list();
    return json.take();
}

/// The schema of a body with these parameters as members.
std::string body_of(const std::vector<api_parameter>& parameters, std::span<const std::string_view> stores) {
    json_writer json;
    json.begin_object();
    json.member("type", std::string_view("object"));
    json.flag("additionalProperties", false);
    json.key("properties");
    json.begin_object();
    for (api_parameter parameter : parameters) {
        if (parameter.about.name == "store" && !stores.empty()) {
            parameter.about.kind = option_kind::name;
            parameter.about.names = stores;
        }
        json.key(parameter.about.name);
        json.begin_object();
        json.member("description", std::string_view(description_of(parameter, parameters)));
        if (parameter.about.name == "vector") {
            json.member("type", std::string_view("array"));
            json.key("items");
            json.begin_object();
            json.member("type", std::string_view("number"));
            json.end_object();
        } else {
            write_schema_members(json, parameter, flag_form::boolean);
        }
        json.end_object();
    }
    json.end_object();
    json.end_object();
    return json.take();
}

}  // namespace

std::string openapi_document(std::string_view file, std::span<const std::string_view> stores) {
    std::string text(file);
    replace_all(text, "\"version of Quern\"", "\"" QUERN_VERSION "\"", false);
    const auto put = [&](std::string_view name, const std::vector<api_parameter>& parameters) {
        replace_all(text, "\"parameters of " + std::string(name) + "\"", list_of(parameters, stores), false);
    };
    put("/api/search", search_parameters());
    replace_all(text, "\"body of /api/search\"", body_of(search_parameters(), stores), false);
    put("/api/documents", document_parameters());
    put("/api/documents/{id}", document_path_parameters());
    put("/api/words", words_parameters());
    put("/api/complete", completion_parameters());
    put("/api/statistics", statistics_parameters());
    put("/api/duplicates", duplicates_parameters());
    put("/api/dedup", dedup_parameters());
    put("/api/store", store_parameters());
    put("/api/options", store_parameters());
    put("/files/{path}", file_parameters());
    return text;
}

}  // namespace quern::server
