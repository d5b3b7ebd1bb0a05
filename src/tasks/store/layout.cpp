// SPDX-License-Identifier: Apache-2.0
#include "tasks/store/layout.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>

#include "quern/base/error.hpp"
#include "quern/tasks/shards.hpp"
#include "quern/tasks/store.hpp"
#include "tasks/store/has_file.hpp"

namespace quern::store_layout {
namespace {

constexpr manifests::kind of_a_store = {manifest, "quern store", store_format_version, "is not a Quern store",
                                        "is not the JSON of a store"};

template <std::size_t N>
std::size_t index_of(const std::string_view (&names)[N], const std::string& name) {
    const auto at = std::find(std::begin(names), std::end(names), name);
    if (at == std::end(names))
        throw std::runtime_error("has the unknown name " + name + "; install a newer Quern");
    return static_cast<std::size_t>(at - std::begin(names));
}

nlohmann::json to_json(const text_options& text) {
    nlohmann::json json = {{"language", text.language},
                           {"tokens", token_rule_names[static_cast<std::size_t>(text.tokens)]},
                           {"min_length", text.min_length},
                           {"stop_words", text.stop_words},
                           {"stem", stemmer_names[static_cast<std::size_t>(text.stem)]}};
    // Stores without it stay as they were.
    if (text.fold != folding::none) json["fold"] = folding_names[static_cast<std::size_t>(text.fold)];
    return json;
}

text_options text_options_of(const nlohmann::json& json) {
    text_options text;
    text.language = json.at("language");
    text.tokens = static_cast<token_rule>(index_of(token_rule_names, json.at("tokens")));
    text.min_length = json.at("min_length");
    text.stop_words = json.at("stop_words");
    text.stem = static_cast<stemmer>(index_of(stemmer_names, json.at("stem")));
    if (json.contains("fold")) text.fold = static_cast<folding>(index_of(folding_names, json.at("fold")));
    return text;
}

nlohmann::json to_json(const std::set<build_stage>& stages) {
    nlohmann::json names = nlohmann::json::array();
    for (const build_stage stage : stages)
        names.push_back(build_stage_names[static_cast<std::size_t>(stage)]);
    return names;
}

std::set<build_stage> stages_of(const nlohmann::json& json) {
    std::set<build_stage> stages;
    for (const auto& name : json) stages.insert(static_cast<build_stage>(index_of(build_stage_names, name)));
    return stages;
}

}  // namespace

std::string field_section(std::size_t column, field_part part) {
    constexpr std::string_view endings[] = {"", "_present", "_ends"};
    return "field_" + std::to_string(column) + std::string(endings[static_cast<std::size_t>(part)]);
}

const word_index_names& field_words(std::size_t number) {
    using names_of_one = std::array<std::string, 5>;
    static const auto spelled = [] {
        constexpr std::string_view parts[] = {"dictionary", "document_frequencies", "collection_frequencies",
                                              "posting_ends", "postings"};
        std::array<names_of_one, max_indexed_fields> made;
        for (std::size_t i = 0; i < made.size(); ++i)
            for (std::size_t part = 0; part < made[i].size(); ++part)
                made[i][part] = "field_words_" + std::to_string(i) + "_" + std::string(parts[part]);
        return made;
    }();
    static const auto names = [] {
        std::array<word_index_names, max_indexed_fields> made;
        for (std::size_t i = 0; i < made.size(); ++i)
            made[i] = {spelled[i][0], spelled[i][1], spelled[i][2], spelled[i][3], spelled[i][4]};
        return made;
    }();
    return names.at(number);
}

std::string manifest_text(const store_info& info) {
    nlohmann::json members = {{"unicode", info.unicode_version},
                              {"text", to_json(info.text)},
                              {"verbatim", info.verbatim},
                              {"documents", info.documents},
                              {"words", info.words},
                              {"vocabulary", info.vocabulary},
                              {"postings", info.postings},
                              {"links", info.links},
                              {"copies", info.duplicates},
                              {"stages", to_json(info.stages)},
                              {"sections", manifests::to_json(info.sections)}};
    if (info.listed != word_listing::none)
        members["listed"] = word_listing_names[static_cast<std::size_t>(info.listed)];
    if (info.listed == word_listing::weights) {
        members["weight_exponent"] = info.weight_exponent;
        members["max_weight"] = info.max_weight;
    }
    if (info.thesaurus) members["thesaurus"] = manifests::to_json({*info.thesaurus}).front();
    if (info.vectors.dimensions != 0) {
        members["document_vectors"] = {{"dimensions", info.vectors.dimensions}, {"unit", info.vectors.unit}};
    }
    if (!info.kept_fields.empty()) {
        nlohmann::json columns = nlohmann::json::array();
        for (const field_info& field : info.fields) {
            columns.push_back({{"name", field.name},
                               {"type", field_type_names[static_cast<std::size_t>(field.type)]},
                               {"documents", field.documents},
                               {"values", field.values}});
        }
        members["fields"] = std::move(columns);
        members["kept_fields"] = info.kept_fields;
        if (!info.indexed_fields.empty()) members["indexed_fields"] = info.indexed_fields;
    }
    return manifests::text_of(of_a_store, std::move(members));
}

store_info read_manifest(const std::filesystem::path& store) {
    store_info info;
    manifests::read(store, of_a_store, [&info](const nlohmann::json& json) {
        info.format_version = json.at("version");
        info.unicode_version = json.at("unicode");
        info.text = text_options_of(json.at("text"));
        info.verbatim = json.at("verbatim");
        if (json.contains("listed"))
            info.listed = static_cast<word_listing>(index_of(word_listing_names, json.at("listed")));
        if (info.listed == word_listing::weights) {
            info.weight_exponent = json.at("weight_exponent");
            info.max_weight = json.at("max_weight");
        }
        info.documents = json.at("documents");
        info.words = json.at("words");
        info.vocabulary = json.at("vocabulary");
        info.postings = json.at("postings");
        info.links = json.at("links");
        info.stages = stages_of(json.at("stages"));
        info.duplicates = json.at("copies");
        info.sections = manifests::sections_of(json.at("sections"));
        if (const auto at = json.find(thesaurus); at != json.end()) {
            info.thesaurus = manifests::sections_of({{std::string(thesaurus), *at}}).front();
        }
        if (const auto at = json.find(document_vectors); at != json.end()) {
            info.vectors = {at->at("dimensions"), at->at("unit")};
        }
        if (!json.contains("kept_fields")) return;
        if (const auto at = json.find("indexed_fields"); at != json.end())
            info.indexed_fields = at->get<std::vector<std::string>>();
        if (info.indexed_fields.size() > max_indexed_fields)
            throw std::runtime_error("has too many indexed fields");
        info.kept_fields = json.at("kept_fields").get<std::vector<std::string>>();
        for (const nlohmann::json& field : json.at("fields")) {
            info.fields.push_back({field.at("name"),
                                   static_cast<field_type>(index_of(field_type_names, field.at("type"))),
                                   field.at("documents"), field.at("values")});
        }
    });
    return info;
}

bool lists_section(const store_info& info, std::string_view name) {
    return manifests::find_section(info.sections, name) != nullptr;
}

io::section_view open_section(const std::filesystem::path& store, const std::vector<store_section>& sections,
                              std::string_view name) {
    return manifests::open_section(store, of_a_store, sections, name);
}

}  // namespace quern::store_layout

namespace quern {

bool is_store(const std::filesystem::path& path) {
    return has_file(path, store_layout::manifest);
}

store_info read_store_info(const std::filesystem::path& store) {
    if (!is_store(store)) {
        if (is_sharded_store(store))
            throw usage_error(
                store.string() +
                " is a sharded store, which only quern search, serve, mcp, count, info and verify take "
                "(expected a store; quern merge makes one of its shards)");
        std::error_code unseen;
        throw usage_error(store.string() + (std::filesystem::exists(store, unseen)
                                                ? ": not a store (expected a folder of quern build or merge)"
                                                : ": no such store"));
    }
    return store_layout::read_manifest(store);
}

}  // namespace quern
