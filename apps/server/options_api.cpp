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

/// A parameter with the choices that the store has.
struct offered_parameter {
    std::vector<std::string_view> names;
    std::vector<choice_text> texts;
    api_parameter parameter;

    offered_parameter(const search_engine& engine, const api_parameter& of) : parameter(of) {
        const std::string_view name = of.about.name;
        if (name == "model") {
            offer(ranking_model_texts,
                  [&](std::uint64_t i) { return engine.ranks_by(static_cast<ranking_model>(i)); });
        } else if (name == "feedback") {
            offer(feedback_method_texts, [&](std::uint64_t i) { return i == 0 || !engine.is_sharded(); });
        } else if (name == "order_model") {
            offer({}, [&](std::uint64_t i) { return i == 0 || !engine.is_sharded(); });
        } else if (name == "dependence") {
            offer(dependence_model_texts, [](std::uint64_t) { return true; });
        }
    }

  private:
    /// `all`: a text for each name of the parameter, or none.
    template <typename Has>
    void offer(std::span<const choice_text> all, const Has& has) {
        const std::uint64_t usual = std::get<std::uint64_t>(parameter.initial);
        for (std::uint64_t i = 0; i < parameter.about.names.size(); ++i) {
            if (!has(i)) continue;
            if (i == usual || names.empty()) parameter.initial = std::uint64_t{names.size()};
            names.push_back(parameter.about.names[i]);
            if (!all.empty()) texts.push_back(all[i]);
        }
        parameter.about.names = names;
    }
};

}  // namespace

std::string options_json(const search_engine& engine, std::string_view query) {
    const parameters given(query, store_parameters());
    json_writer json;
    json.begin_object();
    json.objects("options", search_parameters(), [&](const api_parameter& any) {
        const offered_parameter offered(engine, any);
        const api_parameter& parameter = offered.parameter;
        json.member("name", parameter.about.name);
        json.member("description", std::string_view(description_of(parameter, search_parameters())));
        json.key("schema");
        json.begin_object();
        write_schema_members(json, parameter, flag_form::text);
        json.end_object();
        std::size_t at = 0;
        json.objects("choices", offered.texts, [&](const choice_text& text) {
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
