// SPDX-License-Identifier: Apache-2.0
#include "server/mcp_tools.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <ranges>
#include <string>
#include <utility>
#include <vector>

#include "quern/base/error.hpp"
#include "quern/base/option.hpp"
#include "quern/tasks/similar.hpp"
#include "server/api_parameter.hpp"
#include "server/complete_api.hpp"
#include "server/json_writer.hpp"
#include "server/marked_text.hpp"
#include "server/search_api.hpp"
#include "server/target.hpp"
#include "server/words_api.hpp"

namespace quern::server {
namespace {

constexpr std::uint64_t max_passages = 100, max_documents = 100, max_characters = 200'000;
constexpr std::size_t suggested_spellings = 3;

struct reading {
    std::string id;
    std::uint64_t offset = 0, length = 10'000;
};
struct word_neighbours {
    std::string word;
    std::uint32_t k = 10;
};
struct phrase_count {
    std::string phrase;
    std::uint64_t k = 10;
};
struct likeness {
    std::string id;
    std::uint64_t k = 10;
};

}  // namespace
}  // namespace quern::server

namespace quern {

template <>
inline constexpr auto options_of<server::reading> =
    std::array{option_for<&server::reading::id>("id", "", "The document's id, as search returns it."),
               option_for<&server::reading::offset>(
                   "offset", "", {}, "Start in the text, in characters; next_offset of the previous piece."),
               option_for<&server::reading::length>("length", "", {.min = 1, .max = server::max_characters},
                                                    "Maximum number of characters to return.")};
template <>
inline constexpr auto options_of<server::word_neighbours> = std::array{
    option_for<&server::word_neighbours::word>("word", "", "A single word."),
    option_for<&server::word_neighbours::k>("k", "", {.min = 1, .max = 100}, "Number of similar words.")};
template <>
inline constexpr auto options_of<server::phrase_count> =
    std::array{option_for<&server::phrase_count::phrase>("phrase", "", "The words, without quotes."),
               option_for<&server::phrase_count::k>("k", "", {.min = 1, .max = server::max_documents},
                                                    "Number of documents to list.")};
template <>
inline constexpr auto options_of<server::likeness> =
    std::array{option_for<&server::likeness::id>("id", "", "The document's id, as search returns it."),
               option_for<&server::likeness::k>("k", "", {.min = 1, .max = server::max_passages},
                                                "Number of documents.")};

}  // namespace quern

namespace quern::server {
namespace {

/// With this number by default, or fewer if the server allows no more.
api_parameter number_of_results(api_parameter parameter, const site_limits& limits) {
    const std::uint64_t max = std::min<std::uint64_t>(parameter.about.whole.max, limits.results);
    parameter.initial = std::min(std::get<std::uint64_t>(parameter.initial), max);
    return at_most(max, std::move(parameter));
}

/// The options with the given values; the others have those of `arguments`.
template <class Options>
Options read(const std::vector<api_parameter>& arguments, const parameter_values& values) {
    Options options;
    for (const option<Options>& row : options_of<Options>)
        if (const api_parameter& argument = parameter_named(arguments, row.name); !argument.required)
            row.set(options, argument.initial);
    parameters(values, arguments).read(options);
    return options;
}

void check_length(std::string_view name, std::string_view text, const site_limits& limits) {
    if (text.size() > limits.query_bytes)
        throw bad_request(fmt::format("{} is too long (at most {} bytes)", name, limits.query_bytes));
}

/// Throws not_found, with an id that is almost the same.
std::uint32_t document_of(const search_engine& engine, std::string_view id, const context& ctx) {
    if (const auto number = engine.find(id, ctx)) return *number;
    constexpr std::size_t shown = 200;
    std::string why = fmt::format("there is no document '{}'{}", id.substr(0, back_to_character(id, shown)),
                                  id.size() > shown ? "..." : "");
    if (const auto near = engine.near_id(id, ctx)) why += fmt::format("; did you mean '{}'?", *near);
    throw not_found(why);
}

/// For the description of a tool: the fields that filter, sort and facets can name.
std::string kept_fields_of(const search_engine& engine) {
    constexpr std::size_t max_bytes = 2000;
    std::string names;
    for (const field_info& field : engine.store().fields) {
        if (names.size() > max_bytes) {
            names += ", ...";
            break;
        }
        names += fmt::format("{}{} ({})", names.empty() ? "" : ", ", field.name,
                             field_type_names[static_cast<std::size_t>(field.type)]);
    }
    return names.empty() ? "" : fmt::format(" Fields for filter, sort and facets: {}.", names);
}

/// The fields that words of a query and field_weights can name.
std::string indexed_fields_of(const search_engine& engine) {
    const std::vector<std::string>& names = engine.store().indexed_fields;
    if (names.empty()) return "";
    return fmt::format(" Fields that are searched besides title and text, as in {}:word: {}.", names.front(),
                       fmt::join(names, ", "));
}

mcp_tool search_tool(const search_engine& engine, const site_limits& limits) {
    std::vector<api_parameter> arguments;
    const auto add = [&arguments](std::string_view name, std::string_view help = {}) -> api_parameter& {
        arguments.push_back(parameter_named(search_parameters(), name));
        if (!help.empty()) arguments.back().about.help = help;
        return arguments.back();
    };
    api_parameter& query = add("q",
                               "The words to search for; words in double quotes form a phrase, which every "
                               "result contains. Operators: +word and -word, \"a phrase\"~2 (near each "
                               "other), prefix*, title:word, AND, OR, NOT, parentheses.");
    query.about.name = "query";
    query.required = true;
    add("k", "Number of results.").about.whole.max = max_passages;
    arguments.back() = number_of_results(arguments.back(), limits);
    add("offset");
    add("model");
    add("phrases");
    add("syntax");
    add("total");
    add("typos");
    add("fold");
    if (!engine.is_sharded())
        add("field_weights",
            "BM25F: weights of the title, the text and the indexed fields, as in title=3,text=1,abstract=2; "
            "1 for a field that is not named. Only with the model bm25; titles then get no bonus.");
    if (!engine.store().fields.empty()) {
        for (const char* const name : {"filter", "sort", "facets", "facet_values"}) add(name);
        arguments.front().required = false;  // a filter is enough
    }
    add("correct", "Whether to replace words that no document contains by those spelt alike.");
    if (engine.has_thesaurus()) {
        api_parameter& expand =
            add("expand", "Number of similar words by which to expand each unquoted word.");
        expand.about.whole.max =
            std::min<std::uint64_t>(expand.about.whole.max, engine.thesaurus()->params().top);
    }
    if (engine.has_link_ranks()) add("prior");
    const auto call = [&engine, limits](const parameter_values& given, const context& ctx) {
        parameter_values values = given;
        for (auto& [name, value] : values) {
            if (name != "query") continue;
            check_length(name, value, limits);
            name = "q";
        }
        return search_json(engine, parameters(values, search_parameters()), limits, ctx,
                           search_time::not_written);
    };
    return {
        "search", "Search",
        "Ranked full-text search. Returns the documents with the highest scores (hits), each with its id, "
        "title, score and the passage that fits the query best. unknown_words are words that no document "
        "contains, and did_you_mean is a query without them. more says whether a larger offset gives "
        "further results. Read a document by its id with read_document." +
            kept_fields_of(engine) + indexed_fields_of(engine),
        std::move(arguments), call};
}

/// A character is a code point. Returns the bytes before the `count`-th character from `begin` on, or the size.
std::size_t after_characters(std::string_view text, std::size_t begin, std::uint64_t count) {
    for (std::size_t at = begin; at < text.size(); ++at) {
        const bool first_byte = (static_cast<unsigned char>(text[at]) & 0xC0) != 0x80;
        if (first_byte && count-- == 0) return at;
    }
    return text.size();
}

std::uint64_t characters_of(std::string_view text) {
    return static_cast<std::uint64_t>(
        std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

mcp_tool reading_tool(const search_engine& engine, const site_limits& limits) {
    static const reading defaults;
    std::vector<api_parameter> arguments{required(parameter_of("id", defaults, "plain")),
                                         parameter_of("offset", defaults, "0"),
                                         parameter_of("length", defaults, "1000")};
    const auto call = [&engine, limits, arguments](const parameter_values& values, const context& ctx) {
        const auto given = read<reading>(arguments, values);
        const stored_document stored = engine.document(document_of(engine, given.id, ctx), ctx);
        const std::string_view text = stored.text;
        const std::uint64_t total = characters_of(text);
        if (given.offset > total)
            throw bad_request(fmt::format("offset: the text has only {} characters", total));
        const std::size_t begin = after_characters(text, 0, given.offset);
        const std::size_t end = after_characters(text, begin, given.length);
        const std::uint64_t next = std::min(total, given.offset + given.length);
        json_writer json;
        json.begin_object();
        json.member("id", stored.id);
        json.member("title", shortened(stored.title, limits));
        json.member("characters", total);
        json.member("offset", given.offset);
        json.member("next_offset", next < total ? cell(next) : cell(std::monostate()));
        json.member("text", text.substr(begin, end - begin));
        json.end_object();
        return json.take();
    };
    return {
        "read_document", "Read a document",
        "Returns the text of one document from an offset on, with its title. characters is the length of "
        "the whole text. If the text goes on, next_offset is the offset of the next piece, otherwise null.",
        arguments, call};
}

mcp_tool counting_tool(const ngram_counter& counter, const site_limits& limits) {
    static const phrase_count defaults;
    std::vector<api_parameter> arguments{required(parameter_of("phrase", defaults, "pair of stones")),
                                         number_of_results(parameter_of("k", defaults, "3"), limits)};
    const auto call = [&counter, limits, arguments](const parameter_values& values, const context& ctx) {
        const auto given = read<phrase_count>(arguments, values);
        check_length("phrase", given.phrase, limits);
        const ngram_occurrences found = counter.count(given.phrase, ctx);
        if (found.words.empty()) throw bad_request("the phrase contains no word of this store's kind");
        json_writer json;
        json.begin_object();
        json.values("words", found.words);
        json.values("unknown_words", found.unknown_words);
        json.member("occurrences", found.count);
        json.member("documents", std::uint64_t{found.documents.size()});
        json.objects("first_documents", found.documents | std::views::take(given.k),
                     [&](const ngram_document& document) {
                         json.member("id", counter.id(document.document));
                         json.member("occurrences", std::uint64_t{document.count});
                     });
        json.end_object();
        return json.take();
    };
    return {
        "count_phrase", "Count a phrase",
        "Counts exactly how often a word, or a sequence of words next to each other, occurs in titles and "
        "texts of all documents: occurrences, the number of documents, and the first documents in the "
        "order of the collection. words is the phrase as the store spells it; no document contains "
        "unknown_words.",
        arguments, call};
}

/// The word as the thesaurus has it. Throws not_found, with words spelt alike.
std::uint32_t word_of(const word_space& thesaurus, std::string_view typed, const context& ctx) {
    std::string spelling;
    try {
        spelling = thesaurus.spelling(typed);
    } catch (const usage_error& e) {
        throw bad_request(fmt::format("word: {}", e.what()));
    }
    if (const auto word = thesaurus.find(spelling)) return *word;
    std::string near;
    for (const std::uint32_t other : thesaurus.near_spellings(spelling, ctx, suggested_spellings))
        near.append(near.empty() ? "; did you mean " : ", ").append(thesaurus.word(other));
    throw not_found(
        fmt::format("the thesaurus has no word '{}'{}{}", spelling, near, near.empty() ? "" : "?"));
}

mcp_tool words_tool(const word_space& thesaurus, const site_limits& limits) {
    static const word_neighbours defaults;
    std::vector<api_parameter> arguments{required(parameter_of("word", defaults, "grain")),
                                         parameter_of("k", defaults, "3")};
    const auto call = [&thesaurus, limits, arguments](const parameter_values& values, const context& ctx) {
        const auto given = read<word_neighbours>(arguments, values);
        check_length("word", given.word, limits);
        const std::uint32_t word = word_of(thesaurus, given.word, ctx);
        json_writer json;
        json.begin_object();
        json.member("word", thesaurus.word(word));
        write_similar_words(json, thesaurus, word, given.k, ctx);
        json.end_object();
        return json.take();
    };
    return {"similar_words", "Similar words",
            "Returns the words that this collection uses like the given one, most similar first, to widen a "
            "search.",
            arguments, call};
}

mcp_tool likeness_tool(const search_engine& engine, const site_limits& limits) {
    static const likeness defaults;
    std::vector<api_parameter> arguments{required(parameter_of("id", defaults, "plain")),
                                         number_of_results(parameter_of("k", defaults, "3"), limits)};
    const auto call = [&engine, limits, arguments](const parameter_values& values, const context& ctx) {
        const auto given = read<likeness>(arguments, values);
        document_of(engine, given.id, ctx);
        const parameters like({{"like", given.id}, {"k", std::to_string(given.k)}}, search_parameters());
        return search_json(engine, like, limits, ctx, search_time::not_written);
    };
    return {
        "like_document", "Similar documents",
        "Returns the documents most like a given one by their words (hits), with id, title and the cosine "
        "of their vectors as score.",
        arguments, call};
}

}  // namespace

namespace {

mcp_tool completion_tool(const search_engine& engine, const site_limits& limits) {
    std::vector<api_parameter> arguments = completion_parameters();
    std::erase_if(arguments, [](const api_parameter& of) { return of.about.name == "store"; });
    arguments.front().about.name = "query";
    arguments.front().about.help = "What is typed; its last word is completed.";
    const auto call = [&engine, limits](const parameter_values& given, const context& ctx) {
        parameter_values values = given;
        for (auto& [name, value] : values)
            if (name == "query") name = "q";
        return completion_json(engine, parameters(values, completion_parameters()), limits, ctx);
    };
    return {
        "complete", "Complete a word",
        "Returns words of the collection that begin as the last word of the query does, those in the most "
        "documents first, each with the completed query and its numbers of documents and occurrences: which "
        "spellings and forms of a word the collection has.",
        std::move(arguments), call};
}

}  // namespace

std::vector<mcp_tool> tools_of_store(const served_store& store, const site_limits& limits) {
    const search_engine& engine = store.engine;
    std::vector<mcp_tool> tools{search_tool(engine, limits), reading_tool(engine, limits)};
    if (store.counter) tools.push_back(counting_tool(*store.counter, limits));
    if (!engine.has_remote_shards()) tools.push_back(completion_tool(engine, limits));
    if (engine.has_thesaurus()) tools.push_back(words_tool(*engine.thesaurus(), limits));
    if (engine.has_document_vectors()) tools.push_back(likeness_tool(engine, limits));
    return tools;
}

}  // namespace quern::server
