// SPDX-License-Identifier: Apache-2.0
#include "server/served_store.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "quern/base/error.hpp"
#include "quern/base/option.hpp"
#include "server/api_parameter.hpp"
#include "server/target.hpp"

namespace quern::server {
namespace {

struct store_choice {
    std::string store;
};

std::string name_of_folder(const std::filesystem::path& folder) {
    return std::filesystem::canonical(folder).filename().string();
}

ngram_counter counter_of(const search_engine& engine, const std::filesystem::path& store,
                         const context& ctx) {
    auto counter = ngram_counter::open(store, ctx);
    if (counter.documents() != engine.documents())
        throw usage_error(store.string() + " was replaced while it was being opened; start again");
    return counter;
}

}  // namespace
}  // namespace quern::server

namespace quern {

template <>
inline constexpr auto options_of<server::store_choice> = std::array{option_for<&server::store_choice::store>(
    "store", "", "Name of the store, one of stores of /api/store. By default the first.")};

}  // namespace quern

namespace quern::server {

const api_parameter& store_parameter() {
    static const store_choice none;
    static const api_parameter made = parameter_of("store", none, "store");
    return made;
}

std::vector<served_store> open_stores(std::span<const store_source> sources, const context& ctx,
                                      const ask_shards& ask) {
    std::vector<served_store> stores;
    stores.reserve(sources.size());
    std::vector<std::string> names;
    for (const store_source& source : sources) {
        search_engine engine = search_engine::open(source.store, ctx, {}, ask);
        engine.warm_up();
        std::optional<ngram_counter> counter;
        if (!engine.has_remote_shards()) counter = counter_of(engine, source.store, ctx);
        names.push_back(name_of_folder(source.named));
        stores.push_back({{}, std::move(engine), std::move(counter), source.folder});
    }
    names = unique_names(names);
    for (std::size_t i = 0; i < stores.size(); ++i) stores[i].name = std::move(names[i]);
    return stores;
}

std::vector<std::string> unique_names(std::span<const std::string> names) {
    std::vector<std::string> unique;
    for (const std::string& own : names) {
        std::string name = own;
        // Numbers must not take the names of others.
        const auto taken = [&] {
            return std::ranges::find(unique, name) != unique.end() ||
                   (name != own && std::ranges::find(names, name) != names.end());
        };
        for (int number = 2; taken(); ++number) name = fmt::format("{}-{}", own, number);
        unique.push_back(std::move(name));
    }
    return unique;
}

const served_store& store_named_in(std::string_view query, std::span<const served_store> stores) {
    const auto name = value_in(query, "store");
    return name ? store_of_name(*name, stores) : stores.front();
}

const served_store& store_of_name(std::string_view name, std::span<const served_store> stores) {
    const auto found = std::ranges::find(stores, name, &served_store::name);
    if (found != stores.end()) return *found;
    std::string names;
    for (const served_store& store : stores) names.append(names.empty() ? "" : ", ").append(store.name);
    throw bad_request(fmt::format("store: there is no store '{}' (expected one of {})", name, names));
}

}  // namespace quern::server
