// SPDX-License-Identifier: Apache-2.0
#include "tasks/store/layout.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

#include "base/hash.hpp"
#include "quern/base/error.hpp"

namespace quern::store_layout {
namespace {

constexpr std::string_view format_name = "quern store";

std::string hex(std::uint64_t value) {
    return fmt::format("{:016x}", value);
}

std::uint64_t from_hex(const std::string& text) {
    std::uint64_t value = 0;
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
    if (code != std::errc() || end != text.data() + text.size())
        throw std::runtime_error("not a checksum: " + text);
    return value;
}

template <std::size_t N>
std::size_t index_of(const std::string_view (&names)[N], const std::string& name) {
    const auto at = std::find(std::begin(names), std::end(names), name);
    if (at == std::end(names)) throw std::runtime_error("unknown name: " + name);
    return static_cast<std::size_t>(at - std::begin(names));
}

nlohmann::json to_json(const text_options& text) {
    return {{"language", text.language},
            {"tokens", token_rule_names[static_cast<std::size_t>(text.tokens)]},
            {"min_length", text.min_length},
            {"stop_words", text.stop_words},
            {"stem", stemmer_names[static_cast<std::size_t>(text.stem)]}};
}

text_options text_options_of(const nlohmann::json& json) {
    text_options text;
    text.language = json.at("language");
    text.tokens = static_cast<token_rule>(index_of(token_rule_names, json.at("tokens")));
    text.min_length = json.at("min_length");
    text.stop_words = json.at("stop_words");
    text.stem = static_cast<stemmer>(index_of(stemmer_names, json.at("stem")));
    return text;
}

}  // namespace

std::filesystem::path file_of(const std::filesystem::path& store, std::string_view section) {
    return store / (std::string(section) + std::string(section_extension));
}

std::string manifest_text(const store_info& info) {
    nlohmann::json json = {
        {"format", format_name},      {"version", info.format_version}, {"unicode", info.unicode_version},
        {"text", to_json(info.text)}, {"verbatim", info.verbatim},      {"documents", info.documents},
        {"words", info.words},        {"vocabulary", info.vocabulary},  {"postings", info.postings},
        {"links", info.links},
    };
    for (const store_section& section : info.sections) {
        json["sections"][section.name] = {{"bytes", section.bytes}, {"checksum", hex(section.checksum)}};
    }
    json["checksum"] = hex(hash64(json.dump()));
    return json.dump(2) + '\n';
}

store_info parse_manifest(const std::filesystem::path& store, std::string_view text) {
    const std::string path = (store / manifest).string();
    try {
        nlohmann::json json = nlohmann::json::parse(text);
        if (json.at("format") != format_name) throw std::runtime_error("is no Quern store");
        store_info info;
        info.format_version = json.at("version");
        if (info.format_version != store_format_version) {
            throw std::runtime_error(fmt::format("is of format version {}, and this program reads version {}",
                                                 info.format_version, store_format_version));
        }
        const std::uint64_t checksum = from_hex(json.at("checksum"));
        json.erase("checksum");
        if (hash64(json.dump()) != checksum) throw std::runtime_error("does not match its checksum");
        info.unicode_version = json.at("unicode");
        info.text = text_options_of(json.at("text"));
        info.verbatim = json.at("verbatim");
        info.documents = json.at("documents");
        info.words = json.at("words");
        info.vocabulary = json.at("vocabulary");
        info.postings = json.at("postings");
        info.links = json.at("links");
        for (const auto& [name, section] : json.at("sections").items()) {
            info.sections.push_back({name, section.at("bytes"), from_hex(section.at("checksum"))});
        }
        return info;
    } catch (const nlohmann::json::exception&) {
        throw damaged_store(path, "manifest", "is not the JSON of a store");
    } catch (const std::runtime_error& e) {
        throw damaged_store(path, "manifest", e.what());
    }
}

io::section_view open_section(const std::filesystem::path& store, const store_info& info,
                              std::string_view name) {
    const auto at = std::ranges::find(info.sections, name, &store_section::name);
    if (at == info.sections.end()) {
        throw damaged_store((store / manifest).string(), "manifest",
                            "does not list section " + std::string(name));
    }
    return io::section_view(file_of(store, name), std::string(name), at->checksum);
}

}  // namespace quern::store_layout
