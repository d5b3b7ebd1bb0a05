// SPDX-License-Identifier: Apache-2.0
#include "server/options_api.hpp"

#include <cstdint>
#include <iterator>
#include <span>
#include <variant>
#include <vector>

#include "quern/tasks/choice_texts.hpp"
#include "server/api_parameter.hpp"
#include "server/json_writer.hpp"
#include "server/target.hpp"

namespace quern::server {
namespace {

std::span<const choice_text> texts_of(std::string_view option) {
    if (option == "feedback") return feedback_method_texts;
    if (option == "dependence") return dependence_model_texts;
    return {};
}

/// The parameter `model` with the models that rank the store.
struct offered_models {
    std::vector<std::string_view> names;
    std::vector<choice_text> texts;
    api_parameter parameter = parameter_named(search_parameters(), "model");

    explicit offered_models(const search_engine& engine) {
        const std::uint64_t usual = std::get<std::uint64_t>(parameter.initial);
        for (std::uint64_t i = 0; i < std::size(ranking_model_names); ++i) {
            if (!engine.ranks_by(static_cast<ranking_model>(i))) continue;
            if (i == usual || names.empty()) parameter.initial = std::uint64_t{names.size()};
            names.push_back(ranking_model_names[i]);
            texts.push_back(ranking_model_texts[i]);
        }
        parameter.about.names = names;
    }
};

}  // namespace

std::string options_json(const search_engine& engine, std::string_view query) {
    const parameters given(query, store_parameters());
    const offered_models models(engine);
    json_writer json;
    json.begin_object();
    json.objects("options", search_parameters(), [&](const api_parameter& any) {
        const bool is_model = any.about.name == "model";
        const api_parameter& parameter = is_model ? models.parameter : any;
        json.member("name", parameter.about.name);
        json.member("description", std::string_view(description_of(parameter, search_parameters())));
        json.key("schema");
        json.begin_object();
        write_schema_members(json, parameter, flag_form::text);
        json.end_object();
        std::size_t at = 0;
        const auto texts = is_model ? std::span<const choice_text>(models.texts) : texts_of(any.about.name);
        json.objects("choices", texts, [&](const choice_text& text) {
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
