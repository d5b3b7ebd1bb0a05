// SPDX-License-Identifier: Apache-2.0
#include "quern/base/document_fields.hpp"
#include "quern/tasks/store.hpp"
#include "tasks/store/manifest.hpp"

namespace quern {

std::vector<store_property> properties_of(const store_info& info) {
    std::vector<store_property> rows;
    const auto add = [&](std::string name, std::variant<std::string, std::uint64_t> value) {
        rows.emplace_back(std::move(name), std::move(value));
    };
    add("kind", "store");
    add("format_version", std::uint64_t{info.format_version});
    add("unicode_version", info.unicode_version);
    add("language", info.text.language);
    add("tokens", std::string(token_rule_names[static_cast<std::size_t>(info.text.tokens)]));
    add("min_length", std::uint64_t{info.text.min_length});
    add("stop_words", info.text.stop_words);
    add("stem", std::string(stemmer_names[static_cast<std::size_t>(info.text.stem)]));
    if (info.text.fold != folding::none)
        add("fold", std::string(folding_names[static_cast<std::size_t>(info.text.fold)]));
    if (info.listed != word_listing::none)
        add("listed", std::string(word_listing_names[static_cast<std::size_t>(info.listed)]));
    if (info.listed == word_listing::weights) add("weight_unit", "2^" + std::to_string(info.weight_exponent));
    add("documents", info.documents);
    add("words", info.words);
    add("vocabulary", info.vocabulary);
    add("postings", info.postings);
    add("links", info.links);
    add("copies", info.duplicates);
    std::string stages;
    for (const build_stage stage : info.stages)
        stages.append(stages.empty() ? "" : ",").append(build_stage_names[static_cast<std::size_t>(stage)]);
    add("stages", stages);
    if (info.thesaurus) {
        add("thesaurus.bytes", info.thesaurus->bytes);
        add("thesaurus.checksum", manifests::hex(info.thesaurus->checksum));
    }
    if (info.vectors.dimensions != 0) {
        add("vectors.dimensions", std::uint64_t{info.vectors.dimensions});
        add("vectors.unit", std::uint64_t{info.vectors.unit});
    }
    if (!info.kept_fields.empty()) add("kept_fields", field_list_text(info.kept_fields));
    if (!info.indexed_fields.empty()) add("indexed_fields", field_list_text(info.indexed_fields));
    for (const field_info& field : info.fields) {
        add("field." + field.name + ".type",
            std::string(field_type_names[static_cast<std::size_t>(field.type)]));
        add("field." + field.name + ".documents", field.documents);
        if (field.type == field_type::list) add("field." + field.name + ".values", field.values);
    }
    for (const store_section& section : info.sections) {
        add("section." + section.name + ".bytes", section.bytes);
        add("section." + section.name + ".checksum", manifests::hex(section.checksum));
    }
    return rows;
}

}  // namespace quern
