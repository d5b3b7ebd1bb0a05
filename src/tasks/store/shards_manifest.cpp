// SPDX-License-Identifier: Apache-2.0
#include "tasks/store/shards_manifest.hpp"

#include <fmt/format.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <system_error>

#include "base/hash.hpp"
#include "quern/base/error.hpp"
#include "tasks/store/has_file.hpp"
#include "tasks/store/layout.hpp"
#include "tasks/store/manifest.hpp"

namespace quern {
namespace {

namespace fs = std::filesystem;

constexpr manifests::kind of_shards = {shards_file, "quern shards", 1, "is not a sharded store",
                                       "is not the JSON of a sharded store"};

std::string again(const fs::path& store) {
    return fmt::format("write the sharded store again (quern merge STORE... --sharded -o {} --force)",
                       store.string());
}

}  // namespace

bool is_sharded_store(const fs::path& path) {
    return has_file(path, shards_file);
}

std::string shards_text(const shards_info& info) {
    nlohmann::json shards = nlohmann::json::array();
    for (const shard_info& shard : info.shards) {
        nlohmann::json& made =
            shards.emplace_back(nlohmann::json{{"documents", shard.documents},
                                               {"words", shard.words},
                                               {"checksum", manifests::hex(shard.checksum)}});
        if (shard.url.empty()) {
            made["store"] = shard.store.string();
            continue;
        }
        made["url"] = shard.url;
        made["postings"] = shard.postings;
        nlohmann::json& fields = made["fields"] = nlohmann::json::object();
        for (const field_info& field : shard.fields) fields[field.name] = {field.documents, field.values};
    }
    try {
        return manifests::text_of(of_shards, {{"documents", info.documents},
                                              {"words", info.words},
                                              {"vocabulary", info.vocabulary},
                                              {"shards", std::move(shards)}});
    } catch (const nlohmann::json::type_error&) {
        throw usage_error("the name of a shard is not UTF-8 (expected one that is; rename its folder)");
    }
}

shards_info read_shards(const fs::path& store) {
    if (!is_sharded_store(store)) {
        std::error_code unseen;
        throw usage_error(store.string() +
                          (fs::exists(store, unseen) ? ": not a sharded store" : ": no such sharded store"));
    }
    shards_info info;
    manifests::read(store, of_shards, [&](const nlohmann::json& json) {
        info.documents = json.at("documents");
        info.words = json.at("words");
        info.vocabulary = json.at("vocabulary");
        std::uint64_t documents = 0, words = 0;
        for (const nlohmann::json& shard : json.at("shards")) {
            shard_info& of = info.shards.emplace_back();
            if (shard.contains("url")) {
                of.url = shard.at("url");
                of.postings = shard.at("postings");
                for (const auto& [name, counts] : shard.at("fields").items())
                    of.fields.push_back({name, {}, counts.at(0), counts.at(1)});
            } else {
                const fs::path name(shard.at("store").get<std::string>());
                of.store = (name.is_absolute() ? name : store / name).lexically_normal();
            }
            of.documents = shard.at("documents");
            of.words = shard.at("words");
            of.checksum = manifests::from_hex(shard.at("checksum"));
            documents += info.shards.back().documents;
            words += info.shards.back().words;
        }
        if (info.shards.empty()) throw std::runtime_error("lists no shards");
        if (documents != info.documents || words != info.words ||
            documents >= std::numeric_limits<std::uint32_t>::max())
            throw std::runtime_error("has counts that do not match its shards");
    });
    return info;
}

std::uint64_t checksum_of_manifest(const store_info& info) {
    return hash64(store_layout::manifest_text(info));
}

void require_present(const fs::path& store, const shard_info& shard) {
    if (is_store(shard.store)) return;
    throw usage_error(fmt::format(
        "{}: its shard {} is missing (expected the store that was there before): put it back, or {}",
        store.string(), shard.store.string(), again(store)));
}

void require_unchanged(const fs::path& store, const shard_info& shard, const store_info& info) {
    if (checksum_of_manifest(info) == shard.checksum && info.documents == shard.documents &&
        info.words == shard.words)
        return;
    throw usage_error(
        fmt::format("{}: its shard {} was changed (it is not the store that was there "
                    "before): put that one back, or {}",
                    store.string(), shard.store.string(), again(store)));
}

void check_shards(const fs::path& store, const shards_info& info) {
    for (const shard_info& shard : info.shards) {
        if (!shard.url.empty()) continue;  // its server is asked by the checksum
        require_present(store, shard);
        require_unchanged(store, shard, read_store_info(shard.store));
    }
}

}  // namespace quern
