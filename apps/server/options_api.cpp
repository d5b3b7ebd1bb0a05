// SPDX-License-Identifier: Apache-2.0
#include "server/options_api.hpp"

#include <span>

#include "quern/tasks/choice_texts.hpp"
#include "server/api_parameter.hpp"
#include "server/json_writer.hpp"
#include "server/target.hpp"

namespace quern::server {
namespace {

std::span<const choice_text> texts_of(std::string_view option) {
    if (option == "model") return ranking_model_texts;
    if (option == "feedback") return feedback_method_texts;
    if (option == "dependence") return dependence_model_texts;
    return {};
}

}  // namespace

std::string options_json(std::string_view query) {
    const parameters given(query, store_parameters());
    json_writer json;
    json.begin_object();
    json.objects("options", search_parameters(), [&json](const api_parameter& parameter) {
        json.member("name", parameter.about.name);
        json.member("description", std::string_view(description_of(parameter, search_parameters())));
        json.key("schema");
        json.begin_object();
        write_schema_members(json, parameter, flag_form::text);
        json.end_object();
        std::size_t at = 0;
        json.objects("choices", texts_of(parameter.about.name), [&](const choice_text& text) {
            json.member("value", parameter.about.names[at++]);
            json.member("group", text.group);
            json.member("name", text.name);
            json.member("explanation", text.explanation);
        });
    });
    json.end_object();
    return json.take();
}

}  // namespace quern::server
