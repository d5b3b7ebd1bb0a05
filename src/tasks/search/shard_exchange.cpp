// SPDX-License-Identifier: Apache-2.0
#include "tasks/search/shard_exchange.hpp"

#include <fmt/format.h>

#include <concepts>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>

#include "io/corpus/encoding.hpp"
#include "io/corpus/json_repairs.hpp"
#include "quern/tasks/search_option_table.hpp"
#include "quern/tasks/shards.hpp"

namespace quern::shard_exchange {
namespace {

using nlohmann::json;

// The members of each value that is sent.
template <class Value>
constexpr std::nullptr_t members = nullptr;
template <>
constexpr auto members<whole_counts> = std::tuple(&whole_counts::documents, &whole_counts::occurrences);
template <>
constexpr auto members<word_entry> =
    std::tuple(&word_entry::counts, &word_entry::has_others, &word_entry::has_like);
template <>
constexpr auto members<query_vocabulary> =
    std::tuple(&query_vocabulary::words, &query_vocabulary::beginnings);
template <>
constexpr auto members<search_detail::part_bounds> =
    std::tuple(&search_detail::part_bounds::least, &search_detail::part_bounds::largest);
template <>
constexpr auto members<search_detail::shard_bounds> =
    std::tuple(&search_detail::shard_bounds::of_postings, &search_detail::shard_bounds::of_titles);
template <>
constexpr auto members<scored_document> =
    std::tuple(&scored_document::document, &scored_document::fixed_score);
template <>
constexpr auto members<suggested_words::known> = std::tuple(
    &suggested_words::known::word, &suggested_words::known::distance, &suggested_words::known::documents);
template <>
constexpr auto members<suggestion> =
    std::tuple(&suggestion::word, &suggestion::distance, &suggestion::cost, &suggestion::documents);
template <>
constexpr auto members<found_variants> = std::tuple(&found_variants::word, &found_variants::words);
template <>
constexpr auto members<facet_counts::value_count> =
    std::tuple(&facet_counts::value_count::value, &facet_counts::value_count::documents);
template <>
constexpr auto members<facet_counts> = std::tuple(&facet_counts::documents, &facet_counts::values);
template <>
constexpr auto members<explained_term> = std::tuple(
    &explained_term::list, &explained_term::term, &explained_term::weight, &explained_term::similar_to,
    &explained_term::value, &explained_term::count, &explained_term::in_document, &explained_term::documents,
    &explained_term::in_collection, &explained_term::history_in_document,
    &explained_term::history_in_collection, &explained_term::part, &explained_term::background,
    &explained_term::length, &explained_term::title, &explained_term::score);
template <>
constexpr auto members<search_hit> =
    std::tuple(&search_hit::rank, &search_hit::score, &search_hit::snippet, &search_hit::words,
               &search_hit::explanation, &search_hit::fields);
template <>
constexpr auto members<stored_document> =
    std::tuple(&stored_document::id, &stored_document::title, &stored_document::text, &stored_document::words,
               &stored_document::fields);
template <>
constexpr auto members<request> =
    std::tuple(&request::kind, &request::checksum, &request::query, &request::options, &request::collection,
               &request::vocabulary, &request::counts, &request::bounds, &request::shown, &request::ranks,
               &request::document);
template <>
constexpr auto members<answer> =
    std::tuple(&answer::vocabulary, &answer::counts, &answer::bounds, &answer::ranking, &answer::keys,
               &answer::facets, &answer::total, &answer::variants, &answer::variant_words,
               &answer::suggestions, &answer::hits, &answer::names, &answer::found, &answer::document);

/// The number of values of an enum that is sent.
template <class Enum>
constexpr std::uint64_t values_of = 0;
template <>
constexpr std::uint64_t values_of<step> = steps;
template <>
constexpr std::uint64_t values_of<explained_list> = std::size(explained_list_names);

[[noreturn]] void fail(const char* why) {
    throw std::runtime_error(why);
}

std::string characters_of(std::string_view bytes) {
    std::string text;
    text.reserve(bytes.size());
    for (const char c : bytes) {
        const auto byte = static_cast<unsigned char>(c);
        if (byte < 0x80) {
            text += c;
        } else {
            text += static_cast<char>(0xC0 | (byte >> 6));
            text += static_cast<char>(0x80 | (byte & 0x3F));
        }
    }
    return text;
}

/// JSON's reader has checked that it is UTF-8.
std::string bytes_of(const std::string& text) {
    std::string bytes;
    bytes.reserve(text.size());
    for (std::size_t i = 0; i < text.size(); ++i) {
        const auto lead = static_cast<unsigned char>(text[i]);
        if (lead < 0x80) {
            bytes += text[i];
        } else if ((lead & 0xFE) == 0xC2) {
            bytes += static_cast<char>(((lead & 0x03) << 6) | (static_cast<unsigned char>(text[++i]) & 0x3F));
        } else {
            fail("has a character above U+00FF");
        }
    }
    return bytes;
}

template <class Value>
constexpr bool is_list = false;
template <class Value>
constexpr bool is_list<std::vector<Value>> = true;
template <class Value>
constexpr bool is_map = false;
template <class Value>
constexpr bool is_map<std::map<std::string, Value, std::less<>>> = true;
template <class Value>
constexpr bool is_optional = false;
template <class Value>
constexpr bool is_optional<std::optional<Value>> = true;

json sent(const search_options& options);
void take(const json& from, search_options& to);
json sent(const field_value& value);
void take(const json& from, field_value& to);

template <class Value>
json sent(const Value& of) {
    if constexpr (std::same_as<Value, std::string>) {
        return characters_of(of);
    } else if constexpr (std::is_enum_v<Value>) {
        return static_cast<std::uint64_t>(of);
    } else if constexpr (std::is_arithmetic_v<Value>) {
        return of;
    } else if constexpr (is_optional<Value>) {
        return of ? sent(*of) : json();
    } else if constexpr (is_list<Value>) {
        json list = json::array();
        for (const auto& value : of) list.push_back(sent(value));
        return list;
    } else if constexpr (is_map<Value>) {
        json list = json::array();
        for (const auto& [name, value] : of) list.push_back(json::array({sent(name), sent(value)}));
        return list;
    } else {
        json list = json::array();
        std::apply([&](const auto... member) { (list.push_back(sent(of.*member)), ...); }, members<Value>);
        return list;
    }
}

template <class Value>
void take(const json& from, Value& to) {
    if constexpr (std::same_as<Value, std::string>) {
        if (!from.is_string()) fail("has a value that is not text");
        to = bytes_of(from.get_ref<const std::string&>());
    } else if constexpr (std::same_as<Value, bool>) {
        if (!from.is_boolean()) fail("has a value that is neither true nor false");
        to = from.get<bool>();
    } else if constexpr (std::is_enum_v<Value>) {
        if (!from.is_number_unsigned() || from.get<std::uint64_t>() >= values_of<Value>)
            fail("has an unknown kind");
        to = static_cast<Value>(from.get<std::uint64_t>());
    } else if constexpr (std::unsigned_integral<Value>) {
        if (!from.is_number_unsigned() || from.get<std::uint64_t>() > std::numeric_limits<Value>::max())
            fail("has a number out of range");
        to = from.get<Value>();
    } else if constexpr (std::same_as<Value, std::int64_t>) {
        if (!from.is_number_integer() ||
            (from.is_number_unsigned() &&
             from.get<std::uint64_t>() > std::uint64_t{std::numeric_limits<std::int64_t>::max()}))
            fail("has a number out of range");
        to = from.get<std::int64_t>();
    } else if constexpr (std::same_as<Value, double>) {
        if (!from.is_number()) fail("has a value that is not a number");
        to = from.get<double>();
    } else if constexpr (is_optional<Value>) {
        if (!from.is_null()) take(from, to.emplace());
    } else {
        if (!from.is_array()) fail("has a value that is not a list");
        if constexpr (is_list<Value>) {
            for (const json& value : from) take(value, to.emplace_back());
        } else if constexpr (is_map<Value>) {
            for (const json& pair : from) {
                std::string name;
                take(pair.at(0), name);
                take(pair.at(1), to[std::move(name)]);
            }
        } else {
            std::size_t i = 0;
            std::apply([&](const auto... member) { (take(from.at(i++), to.*member), ...); }, members<Value>);
        }
    }
}

json sent(const field_value& value) {
    return std::visit(
        []<class Value>(const Value& of) -> json {
            if constexpr (std::same_as<Value, std::monostate>)
                return nullptr;
            else
                return sent(of);
        },
        value);
}

void take(const json& from, field_value& to) {
    if (from.is_null()) return;
    if (from.is_string())
        take(from, to.emplace<std::string>());
    else if (from.is_number_float())
        take(from, to.emplace<double>());
    else
        take(from, to.emplace<std::int64_t>());
}

/// By the names of the table, those that differ from the defaults.
template <class Options>
void add_options(json& to, const Options& options) {
    static const Options usual;
    for (const option<Options>& row : options_of<Options>) {
        const option_value value = row.get(options);
        if (value == row.get(usual)) continue;
        std::visit(
            [&]<class Value>(const Value& of) {
                if constexpr (std::same_as<Value, std::monostate> || std::same_as<Value, decimal>)
                    throw std::logic_error("an option that is not sent to shards");
                else
                    to[std::string(row.name)] = sent(of);
            },
            value);
    }
}

json sent(const search_options& options) {
    json all = json::object();
    add_options(all, options.ranking);
    add_options(all, options);
    if (!options.fields) all["fields"] = false;
    return all;
}

template <class Value>
option_value taken(const json& from) {
    Value value{};
    take(from, value);
    return value;
}

option_value taken(const option_description& about, const json& from) {
    switch (about.kind) {
        case option_kind::flag:
            return taken<bool>(from);
        case option_kind::choice:
        case option_kind::whole:
            return taken<std::uint64_t>(from);
        case option_kind::integer:
            return taken<std::int64_t>(from);
        case option_kind::number:
            return taken<double>(from);
        case option_kind::name:
        case option_kind::text:
            return taken<std::string>(from);
        case option_kind::exact:
            break;
    }
    fail("has an option that is not sent to shards");
}

template <class Options>
bool take_option(Options& options, std::string_view name, const json& from) {
    for (const option<Options>& row : options_of<Options>) {
        if (row.name != name) continue;
        const option_value value = taken(row, from);
        check_value(row, value);
        row.set(options, value);
        return true;
    }
    return false;
}

void take(const json& from, search_options& to) {
    if (!from.is_object()) fail("has options that are not an object");
    for (const auto& [name, value] : from.items()) {
        if (name == "fields")
            take(value, to.fields);
        else if (!take_option(to.ranking, name, value) && !take_option(to, name, value))
            throw std::runtime_error("has an unknown option: " + name);
    }
}

/// Beyond these, sums of two bounds, and a division by one, would not be numbers.
void check(const std::vector<search_detail::shard_bounds>& bounds) {
    const auto is_possible = [](std::int64_t part) { return part >= 0 && part <= std::int64_t{1} << 61; };
    for (const auto& of : bounds)
        if ((of.of_postings &&
             (!is_possible(of.of_postings->least) || !is_possible(of.of_postings->largest))) ||
            (of.of_titles && !is_possible(*of.of_titles)))
            fail("has bounds that no term has");
}

void check_utf8(std::string_view shown) {
    if (!io::is_utf8(shown)) fail("has a text that is not UTF-8");
}

/// As stored_fields requires it of a store on this machine.
void check_fields(const std::string& fields) {
    if (!fields.empty() && (fields.front() != '{' || fields.back() != '}' || !io::is_json(fields)))
        fail("has fields that are not a JSON object");
}

/// Texts are sent as bytes, and those of answers are written into responses.
void check_texts(const answer& of) {
    for (const std::string& name : of.names) check_utf8(name);
    for (const search_hit& hit : of.hits) {
        check_utf8(hit.snippet);
        check_fields(hit.fields);
        for (const explained_term& term : hit.explanation) {
            check_utf8(term.term);
            check_utf8(term.similar_to);
        }
    }
    if (of.document) {
        check_utf8(of.document->id);
        check_utf8(of.document->title);
        check_utf8(of.document->text);
        check_fields(of.document->fields);
    }
    for (const std::string& word : of.variant_words) check_utf8(word);
    for (const found_variants& variants : of.variants) {
        check_utf8(variants.word);
        for (const suggested_words::known& known : variants.words) check_utf8(known.word);
    }
    for (const auto& word : of.suggestions)
        for (const suggestion& near : word) check_utf8(near.word);
    for (const facet_counts& facet : of.facets)
        for (const auto& [value, documents] : facet.values)
            if (const auto* const text = std::get_if<std::string>(&value)) check_utf8(*text);
}

template <class Message>
std::string message_of(const Message& of) {
    return json::array({version, sent(of), QUERN_VERSION}).dump();
}

template <class Message>
Message message_from(std::string_view text) {
    if (io::has_nul(text)) fail("is not JSON: it has a NUL");
    const json message = json::parse(text);
    if (!message.is_array() || message.size() < 2 || message.size() > 3 || message[0] != version)
        fail("is of another version of Quern");
    if (message.size() == 3 && message[2] != QUERN_VERSION) {
        std::string other;
        take(message[2], other);
        check_utf8(other);
        throw other_version(fmt::format(
            "this server runs Quern {}, but the step of a query is from Quern {} (expected the same version)",
            QUERN_VERSION, other.substr(0, 40)));
    }
    Message of;
    take(message[1], of);
    return of;
}

}  // namespace

std::string text_of(const request& of) {
    return message_of(of);
}
std::string text_of(const answer& of) {
    return message_of(of);
}

request request_from(std::string_view text) {
    auto of = message_from<request>(text);
    if (of.ranks.size() != of.shown.size()) fail("has hits without ranks");
    check(of.bounds);
    return of;
}

answer answer_from(std::string_view text) {
    auto of = message_from<answer>(text);
    if (of.names.size() != 2 * of.hits.size()) fail("has hits without ids and titles");
    constexpr std::uint32_t max_cost = 31;  // of two edits it is less
    for (const auto& word : of.suggestions)
        for (const suggestion& near : word)
            if (near.cost > max_cost) fail("has a suggestion that is not near");
    check(of.bounds);
    check_texts(of);
    if (!of.keys.empty() && of.keys.size() != of.ranking.size()) fail("has a ranking without its fields");
    return of;
}

}  // namespace quern::shard_exchange
