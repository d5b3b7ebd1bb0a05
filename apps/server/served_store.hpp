// SPDX-License-Identifier: Apache-2.0
// The stores that a server offers, by name.
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "quern/base/context.hpp"
#include "quern/tasks/count.hpp"
#include "quern/tasks/search.hpp"
#include "quern/tasks/source_folder.hpp"

namespace quern::server {

struct store_source {
    std::filesystem::path store;
    std::filesystem::path named;  ///< what the user named: the store, or its corpus
    std::optional<source_folder> folder = {};
};

struct served_store {
    std::string name;  ///< clients see no paths
    search_engine engine;
    std::optional<ngram_counter> counter;  ///< nothing: some shards are on other machines
    std::optional<source_folder> folder;   ///< of its documents; nothing: only the store's texts are shown
};

/// Opens them in this order, ready for the first client. Throws as search_engine::open does, and usage_error if a store was
/// replaced meanwhile.
/// `ask`: for shards on other machines.
std::vector<served_store> open_stores(std::span<const store_source> sources, const context& ctx,
                                      const ask_shards& ask = {});

/// A name that came before gets a number: "wiki", "notes", "wiki-2".
std::vector<std::string> unique_names(std::span<const std::string> names);

/// The store that the parameters name with `store`; without it the first. Throws bad_request for an unknown name.
const served_store& store_named_in(std::string_view query, std::span<const served_store> stores);
/// The store of this name. Throws bad_request.
const served_store& store_of_name(std::string_view name, std::span<const served_store> stores);

}  // namespace quern::server
