// SPDX-License-Identifier: Apache-2.0
#include "server/store_api.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "quern/tasks/store.hpp"
#include "server/api_parameter.hpp"
#include "server/json_writer.hpp"
#include "server/target.hpp"

namespace quern::server {

const std::vector<api_parameter>& store_parameters() {
    static const std::vector<api_parameter> all{store_parameter()};
    return all;
}

std::string store_json(const served_store& store, std::span<const served_store> stores,
                       std::string_view query, const site_limits& limits) {
    const parameters given(query, store_parameters());
    const search_engine& engine = store.engine;
    const store_info& info = engine.store();
    json_writer json;
    json.begin_object();
    json.member("name", std::string_view(store.name));
    json.objects("stores", stores, [&json](const served_store& of) {
        json.member("name", std::string_view(of.name));
        json.member("documents", of.engine.documents());
    });
    json.member("format_version", std::uint64_t{info.format_version});
    json.member("unicode_version", std::string_view(info.unicode_version));
    json.member("language", std::string_view(info.text.language));
    json.member("tokens", token_rule_names[static_cast<std::size_t>(info.text.tokens)]);
    json.member("min_length", std::uint64_t{info.text.min_length});
    json.member("stop_words", std::string_view(info.text.stop_words));
    json.member("stem", stemmer_names[static_cast<std::size_t>(info.text.stem)]);
    if (info.text.fold != folding::none)
        json.member("fold", folding_names[static_cast<std::size_t>(info.text.fold)]);
    if (info.listed != word_listing::none)
        json.member("listed", word_listing_names[static_cast<std::size_t>(info.listed)]);
    json.member("documents", info.documents);
    json.member("words", info.words);
    json.member("vocabulary", info.vocabulary);
    json.member("postings", info.postings);
    if (engine.is_sharded()) json.member("shards", std::uint64_t{engine.shards()});
    json.member("links", info.links);
    json.member("copies", info.duplicates);
    std::string stages;
    for (const build_stage stage : info.stages)
        stages.append(stages.empty() ? "" : ",").append(build_stage_names[static_cast<std::size_t>(stage)]);
    json.member("stages", std::string_view(stages));
    json.key("offers");
    json.begin_list();
    if (engine.has_thesaurus()) json.value(std::string_view("thesaurus"));
    if (engine.has_link_ranks()) json.value(std::string_view("link_ranks"));
    if (engine.has_document_vectors()) json.value(std::string_view("document_vectors"));
    if (engine.vector_dimensions() != 0) json.value(std::string_view("vectors"));
    if (store.folder) json.value(std::string_view("folder"));
    json.end_list();
    if (engine.vector_dimensions() != 0)
        json.member("vector_dimensions", std::uint64_t{engine.vector_dimensions()});
    json.objects("fields", info.fields, [&json](const field_info& field) {
        json.member("name", std::string_view(field.name));
        json.member("type", field_type_names[static_cast<std::size_t>(field.type)]);
        json.member("documents", field.documents);
    });
    json.key("indexed_fields");
    json.begin_list();
    for (const std::string& name : info.indexed_fields) json.value(std::string_view(name));
    json.end_list();
    json.key("limits");
    json.begin_object();
    json.member("results", static_cast<std::uint64_t>(limits.results));
    json.member("query_bytes", static_cast<std::uint64_t>(limits.query_bytes));
    json.end_object();
    json.objects("sections", info.sections, [&json](const store_section& section) {
        json.member("name", std::string_view(section.name));
        json.member("bytes", section.bytes);
        json.member("checksum", std::string_view(fmt::format("{:016x}", section.checksum)));
    });
    json.end_object();
    return json.take();
}

}  // namespace quern::server
