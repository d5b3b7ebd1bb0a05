// SPDX-License-Identifier: Apache-2.0
// Stores that are searched as one: checked to go together as those that are merged, counted, and named in one file.
#include "quern/tasks/shards.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "device/files/file_writer.hpp"
#include "io/files/atomic_folder.hpp"
#include "io/files/name_lock.hpp"
#include "quern/base/error.hpp"
#include "quern/tasks/store.hpp"
#include "tasks/shared/output_folder.hpp"
#include "tasks/store/shards_manifest.hpp"
#include "tasks/store/words_of_stores.hpp"
#include "tasks/store_merge/source_stores.hpp"

namespace quern {
namespace {

namespace fs = std::filesystem;

shards_options checked_shards(const shards_options& request) {
    shards_options options = request;
    if (options.stores.empty()) throw usage_error("no stores (expected the folders of one store or more)");
    if (options.store.empty()) throw usage_error("no name for the sharded store given");
    options.store = resolved_folder(options.store);
    if (!options.urls.empty() && options.urls.size() != options.stores.size())
        throw usage_error(
            fmt::format("{} addresses of servers for {} stores (expected one for each, or none)",
                        options.urls.size(), options.stores.size()));
    if (!options.urls.empty() && std::ranges::none_of(options.urls, &std::string::empty))
        throw usage_error(
            "all shards are on other machines (expected one on this machine, by whose rules queries are "
            "read)");
    std::set<fs::path> seen;
    for (const fs::path& store : options.stores) {
        if (is_sharded_store(store))
            throw usage_error(store.string() + " is a sharded store (expected stores: name its shards)");
        if (!seen.insert(resolved_folder(store)).second)
            throw usage_error(store.string() + " is given twice (expected different stores)");
    }
    refuse_to_replace(
        options.store,
        {.name = "sharded store", .is_one = is_sharded_store, .files = {shards_file}, .has_sections = false},
        options.force);
    return options;
}

void check_duplicates(const source_stores& stores) {
    for (std::size_t i = 0; i < stores.size(); ++i)
        if (const std::uint64_t excluded = stores[i].info().duplicates; excluded != 0)
            throw usage_error(
                fmt::format("{} excluded {} near-duplicate{}, which are decided over all "
                            "documents together: build it with --skip duplicates",
                            stores.name(i).string(), excluded, excluded == 1 ? "" : "s"));
}

/// Filters read the values of a field by its type, so it must be that of the merged store.
void check_fields(const source_stores& stores) {
    const auto type_of = [](const store_info& info, std::string_view name) {
        const auto at = std::ranges::find(info.fields, name, &field_info::name);
        return at == info.fields.end() || at->documents == 0
                   ? std::string("in no document")
                   : std::string(field_type_names[static_cast<std::size_t>(at->type)]);
    };
    const store_info& one = stores.info();
    for (std::size_t i = 1; i < stores.size(); ++i) {
        const store_info& two = stores[i].info();
        for (const auto* const info : {&one, &two}) {
            for (const field_info& field : info->fields) {
                const std::string in_one = type_of(one, field.name), in_two = type_of(two, field.name);
                if (in_one != in_two)
                    throw usage_error(fmt::format(
                        "{} and {} cannot be shards of one store: the field {} is {} in the first, {} in the "
                        "second (expected the same type in all; quern merge finds one for all)",
                        stores.name(0).string(), stores.name(i).string(), field.name, in_one, in_two));
            }
        }
    }
}

void check_weights(const source_stores& stores) {
    for (std::size_t i = 1; i < stores.size(); ++i)
        if (stores[i].info().weight_exponent != stores.info().weight_exponent)
            throw usage_error(fmt::format(
                "{} and {} cannot be shards of one store: their weights are multiples of 2^{} and 2^{} "
                "(expected the same unit; quern merge makes one store of them)",
                stores.name(0).string(), stores.name(i).string(), stores.info().weight_exponent,
                stores[i].info().weight_exponent));
}

/// Distinct words of all dictionaries.
std::uint64_t vocabulary_of(const source_stores& stores, const context& ctx) {
    std::vector<const opened_store*> all;
    for (const opened_store& store : stores.all()) all.push_back(&store);
    std::uint64_t distinct = 0;
    for_each_word(all, {}, ctx, [&](std::string_view, const whole_counts&) { ++distinct; });
    return distinct;
}

}  // namespace

shards_info write_shards(const shards_options& request, const context& ctx) {
    const io::name_lock only_one(checked_shards(request).store);
    const shards_options options = checked_shards(request);
    const source_stores stores(options.stores);
    check_duplicates(stores);
    check_fields(stores);
    check_weights(stores);
    if (stores.size() > 1) stores.refuse_common_ids(ctx);
    shards_info info;
    for (std::size_t i = 0; i < stores.size(); ++i) {
        const store_info& of = stores[i].info();
        const fs::path& name = options.stores[i];
        shard_info& shard = info.shards.emplace_back();
        if (!options.urls.empty()) shard.url = options.urls[i];
        if (!shard.url.empty()) {
            shard.postings = of.postings;
            shard.fields = of.fields;
        } else {
            shard.store = name.is_absolute() ? name.lexically_normal()
                                             : resolved_folder(name).lexically_relative(options.store);
        }
        shard.documents = of.documents;
        shard.words = of.words;
        shard.checksum = checksum_of_manifest(of);
        info.documents += of.documents;
        info.words += of.words;
    }
    info.vocabulary = vocabulary_of(stores, ctx);
    io::atomic_folder folder(options.store, options.force ? io::existing::replace : io::existing::refuse);
    write_file(folder.file(shards_file), shards_text(info));
    ctx.check_stop();
    folder.commit();
    return read_shards(options.store);
}

std::uint64_t verify_shards(const fs::path& store, const context& ctx) {
    const shards_info info = read_shards(store);
    check_shards(store, info);
    std::uint64_t bytes = fs::file_size(store / shards_file);
    for (const shard_info& shard : info.shards)
        if (shard.url.empty()) bytes += verify_store(shard.store, ctx);
    return bytes;
}

}  // namespace quern
