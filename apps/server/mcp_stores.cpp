// SPDX-License-Identifier: Apache-2.0
// The tools of several stores as one list: each tool takes the name of a store.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "server/api_parameter.hpp"
#include "server/mcp_tools.hpp"
#include "server/target.hpp"

namespace quern::server {
namespace {

struct tool_of_store {
    std::string_view store;
    mcp_tool tool;
};

/// The names of the stores, for the schemas of their tools: as long as the tools.
struct names_of_stores {
    std::vector<std::string_view> all;
};

/// A tool that several stores have, with an argument that names the store.
mcp_tool joined(std::vector<tool_of_store> of, const std::shared_ptr<const names_of_stores>& names) {
    mcp_tool made = of.front().tool;
    for (const tool_of_store& other : of) {
        for (const api_parameter& argument : other.tool.arguments) {
            const auto known = std::ranges::find(made.arguments, argument.about.name,
                                                 [](const api_parameter& p) { return p.about.name; });
            if (known == made.arguments.end()) {
                made.arguments.push_back(argument);
            } else {
                known->required = known->required && argument.required;
                known->about.whole.max = std::max(known->about.whole.max, argument.about.whole.max);
            }
        }
        if (other.tool.description != made.description && &other != &of.front())
            made.description += fmt::format(" In the store {}: {}", other.store, other.tool.description);
    }
    api_parameter choice = store_parameter();
    choice.about.help = "The store to use.";
    choice.about.kind = option_kind::name;
    choice.about.names = names->all;
    choice.required = true;
    made.arguments.insert(made.arguments.begin(), std::move(choice));
    made.call = [of = std::move(of), names](const parameter_values& given, const context& ctx) {
        parameter_values values = given;
        const auto store = std::ranges::find(values, "store", &std::pair<std::string, std::string>::first);
        const std::string name = store == values.end() ? std::string() : store->second;
        if (store != values.end()) values.erase(store);
        const auto found = std::ranges::find(of, name, &tool_of_store::store);
        if (found == of.end()) throw bad_request(fmt::format("store: '{}' does not have this tool", name));
        for (const auto& [argument, value] : values) {
            const bool known = std::ranges::any_of(
                found->tool.arguments, [&](const api_parameter& p) { return p.about.name == argument; });
            if (!known)
                throw bad_request(fmt::format("{}: the store '{}' does not have this", argument, name));
        }
        return found->tool.call(values, ctx);
    };
    return made;
}

}  // namespace

std::vector<mcp_tool> tools_of(std::span<const served_store> stores, const site_limits& limits) {
    if (stores.size() == 1) return tools_of_store(stores.front(), limits);
    const auto names = std::make_shared<names_of_stores>();
    std::vector<std::vector<tool_of_store>> all;  // by name of the tool
    for (const served_store& store : stores) {
        names->all.push_back(store.name);
        for (mcp_tool& tool : tools_of_store(store, limits)) {
            auto group =
                std::ranges::find(all, tool.name, [](const auto& of) { return of.front().tool.name; });
            if (group == all.end()) group = all.insert(group, std::vector<tool_of_store>{});
            group->push_back({store.name, std::move(tool)});
        }
    }
    std::vector<mcp_tool> tools;
    for (std::vector<tool_of_store>& group : all) tools.push_back(joined(std::move(group), names));
    return tools;
}

mcp mcp_of(std::span<const served_store> stores, const site_limits& limits,
           std::function<void(const std::string&)> report) {
    std::string names, collections;
    for (const served_store& store : stores) {
        names.append(names.empty() ? "" : ", ").append(store.name);
        collections += fmt::format("{}{} of {} documents", collections.empty() ? "" : ", ", store.name,
                                   store.engine.documents());
    }
    const bool several = stores.size() > 1;
    const mcp_description about{
        .name = "quern",
        .title = fmt::format("Quern: {}", names),
        .version = QUERN_VERSION,
        .instructions =
            fmt::format("Searches the {} {}, which {} not change. Find documents with search, "
                        "then read them by their ids with read_document; cite ids{}.",
                        several ? "collections" : "collection", collections, several ? "do" : "does",
                        several ? " with the names of their stores" : "")};
    return {about, tools_of(stores, limits), {}, std::move(report)};
}

}  // namespace quern::server
