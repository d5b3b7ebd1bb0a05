// SPDX-License-Identifier: Apache-2.0
#include "server/search_api.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "quern/base/error.hpp"
#include "quern/tasks/search_option_table.hpp"
#include "quern/tasks/similar.hpp"
#include "server/json_writer.hpp"
#include "server/target.hpp"

namespace quern::server {
namespace {

constexpr std::uint64_t max_expansion = 20, max_suggestions = 20, max_facet_values = 1000,
                        max_fused = 100'000;

struct search_request {
    std::string_view query;
    std::optional<std::string> q, like, vector;
    std::uint64_t k = 10;  ///< results after the offset
    bool parts = false;
    bool correct = false;
    search_options options;

    search_request() {
        options.suggestions = interactive_suggestions;
        options.ranking.title_weight = interactive_title_weight;
        options.syntax = query_syntax::automatic;
        options.typos = typo_tolerance::automatic;
    }
};

struct document_request {
    std::optional<std::string> id, q;
    std::uint64_t offset = 0;
    std::uint64_t bytes = site_limits{}.text_bytes;
};

}  // namespace
}  // namespace quern::server

namespace quern {

template <>
inline constexpr auto options_of<server::search_request> = std::array{
    option_for<&server::search_request::q>("q", "",
                                           "The query, as syntax says: words, phrases in double quotes, "
                                           "operators, or * for all documents; at most 2,048 bytes. Required "
                                           "without like, filter, sort and facets."),
    option_for<&server::search_request::k>("k", "", {.min = 1},
                                           "Number of results; k and offset together are at most quern serve "
                                           "--max-results (1,000; see limits.results of "
                                           "/api/store)."),
    option_for<&server::search_request::like>("like", "",
                                              "Id of a document: find similar documents by their vectors, "
                                              "with or without q. That document is excluded. "
                                              "Requires a store with document vectors."),
    option_for<&server::search_request::vector>(
        "vector", "",
        "Hybrid search: the vector of the query, a JSON list of numbers. The ranking of the documents by "
        "their vectors is "
        "fused with that of the words; without q it is the result. Requires a store with vectors of "
        "documents "
        "(quern build --vectors); vector_dimensions of /api/store is their length."),
    option_for<&server::search_request::correct>("correct",
                                                 "Whether to replace words that no document contains by the "
                                                 "suggested ones; corrected_query then contains the "
                                                 "query that was run."),
    option_for<&server::search_request::parts>(
        "parts",
        "Whether titles and snippets are also given in pieces, so that words of the query can be marked.")};

template <>
inline constexpr auto options_of<server::document_request> = std::array{
    option_for<&server::document_request::id>("id", "", "The document's id."),
    option_for<&server::document_request::q>("q", "",
                                             "A query whose words are marked in title_parts and text_parts."),
    option_for<&server::document_request::offset>(
        "offset", "", {},
        "Start in the text, in bytes of UTF-8; inside a character it moves to the start of that character."),
    option_for<&server::document_request::bytes>("bytes", "",
                                                 {.min = 4, .max = server::site_limits{}.max_text_bytes},
                                                 "Maximum number of bytes of the text to return.")};

}  // namespace quern

namespace quern::server {
namespace {

/// The score components besides the words.
void read_lists(const parameters& given, const search_engine& engine, bool like_alone,
                search_options& options) {
    const auto need = [](std::string_view name, bool present, std::string_view what) {
        if (!present) throw bad_request(fmt::format("{}: the store has no {}", name, what));
    };
    if (options.prior != 0) need("prior", engine.has_link_ranks(), "link ranks");
    if (options.expand != 0) {
        need("expand", engine.has_thesaurus(), "thesaurus");
        if (const auto max = engine.thesaurus()->params().top; options.expand > max)
            throw bad_request(
                fmt::format("expand: the thesaurus has at most {} similar words per word", max));
    }
    if (like_alone && !given.text("like_weight")) options.like_weight = 1;
    if (const auto id = given.text("like")) {
        need("like", engine.has_document_vectors(), "document vectors");
        options.like = engine.find(*id);
        if (!options.like) throw bad_request(fmt::format("like: there is no document '{}'", *id));
    }
}

/// An explanation has a term for each word of the query and for each similar word; a query of 2 KiB has
/// thousands.
void refuse_long_explanations(const search_request& request, const search_engine& engine,
                              const site_limits& limits) {
    const std::size_t words = engine.words_of(request.query).size();
    const search_options& options = request.options;
    constexpr std::size_t terms_of_variants = 3;
    const bool has_variants = options.prefix_last || options.typos > typo_tolerance::automatic;
    const std::size_t terms =
        std::max<std::size_t>(words, 1) * (1 + options.expand + (has_variants ? terms_of_variants : 0));
    if (request.k * terms > limits.explained_terms)
        throw bad_request(fmt::format("explain: too many results with {} terms each (at most {} per request)",
                                      terms, std::max<std::size_t>(1, limits.explained_terms / terms)));
}

search_request read_request(const parameters& given, const search_engine& engine, const site_limits& limits) {
    search_request request;
    request.k = std::min<std::size_t>(request.k, limits.results);
    given.read(request);
    given.read(request.options);
    given.read(request.options.ranking);
    const bool by_fields = given.text("filter") || given.text("sort") || given.text("facets");
    const auto vector = given.text("vector");
    if (vector) {
        if (engine.vector_dimensions() == 0)
            throw bad_request("vector: the store has no vectors of documents");
        if (!vector->starts_with('[')) throw bad_request("vector: expected a JSON list of numbers");
        try {
            request.options.vector = read_query_vector(std::string(*vector), context::cpu(1));
        } catch (const usage_error& e) {
            throw bad_request(std::string("vector: ") + e.what());
        }
    }
    if (given.text("q") || !(given.text("like") || by_fields || vector))
        request.query = query_of(given, limits);
    for (const char* const name : {"filter", "sort", "facets", "field_weights", "field_b"}) {
        if (const auto text = given.text(name); text && text->size() > limits.query_bytes)
            throw bad_request(fmt::format("{} is too long (at most {} bytes)", name, limits.query_bytes));
    }
    read_lists(given, engine, request.query.empty() && given.text("like"), request.options);
    if (request.k > limits.results || request.options.offset > limits.results - request.k)
        throw bad_request(fmt::format("offset and k together are too large (at most {})", limits.results));
    if (request.options.order > 1 && request.query.size() > limits.history_query_bytes)
        throw bad_request(fmt::format("q is too long (at most {} bytes with an order above 1)",
                                      limits.history_query_bytes));
    if (request.options.explain) refuse_long_explanations(request, engine, limits);
    return request;
}

search_result response_of(const search_engine& engine, const search_request& request, const context& ctx) {
    try {
        return engine.search(request.query, request.options, ctx);
    } catch (const query_error& e) {
        throw bad_query(e.what(), e.position());
    } catch (const usage_error& e) {  // options out of range: the engine refuses nothing else
        throw bad_request(e.what());
    }
}

/// Replaces the result by that of the corrected query if it has hits; keeps the unknown words and suggestions.
bool take_corrected(const search_engine& engine, search_request request, std::string_view corrected,
                    search_result& handle, const context& ctx) {
    request.query = corrected;
    request.options.suggestions = 0;
    search_result other = response_of(engine, request, ctx);
    if (other.hits.empty()) {
        // All pages of a search agree: after its last hit, too, the corrected query is used.
        if (request.options.offset == 0) return false;
        request.options.offset = 0;
        request.options.k = 1;
        request.options.snippets = request.options.explain = false;
        if (response_of(engine, request, ctx).hits.empty()) return false;
    }
    other.unknown_words = std::move(handle.unknown_words);
    other.suggestions = std::move(handle.suggestions);
    handle = std::move(other);
    return true;
}

/// Splits a text into pieces, alternately outside and inside the marked words; the first is outside.
void write_parts(json_writer& json, std::string_view name, const search_engine& engine, std::string_view text,
                 std::span<const std::string> marked) {
    json.key(name);
    json.begin_list();
    std::size_t done = 0;
    for (const text_match& match : engine.matches(text, marked)) {
        json.value(text.substr(done, match.begin - done));
        json.value(text.substr(match.begin, match.end - match.begin));
        done = match.end;
    }
    json.value(text.substr(done));
    json.end_list();
}

/// For a store with kept fields.
void write_fields(json_writer& json, const search_engine& engine, std::string_view fields) {
    if (!engine.store().kept_fields.empty())
        json.member("fields", raw_json{fields.empty() ? std::string_view("{}") : fields});
}

/// `marked`: the words to mark in texts, sorted.
void write_hit(json_writer& json, const search_engine& engine, const search_request& request,
               std::span<const std::string> marked, const search_hit& hit) {
    json.begin_object();
    json.member("rank", static_cast<std::uint64_t>(hit.rank));
    json.member("id", hit.id);
    json.member("score", hit.score);
    json.member("title", hit.title);
    if (request.options.snippets) json.member("snippet", std::string_view(hit.snippet));
    if (engine.duplicates() != 0) {
        const std::string duplicates = duplicates_json(hit);
        json.member("copies", raw_json{duplicates});
        json.member("copy_count", hit.duplicate_count);
    }
    write_fields(json, engine, hit.fields);
    if (request.options.explain) {
        const std::string explanation = explanation_json(hit);
        json.member("explanation", raw_json{explanation});
    }
    if (request.parts) {
        write_parts(json, "title_parts", engine, hit.title, marked);
        if (request.options.snippets) write_parts(json, "snippet_parts", engine, hit.snippet, marked);
    }
    json.end_object();
}

void write_known(json_writer& json, const suggested_words::known& known) {
    json.begin_object();
    json.member("word", std::string_view(known.word));
    json.member("distance", std::uint64_t{known.distance});
    json.member("documents", known.documents);
    json.end_object();
}

void write_suggestions(json_writer& json, const std::vector<suggested_words>& suggestions) {
    json.key("suggestions");
    json.begin_list();
    for (const suggested_words& of : suggestions) {
        json.begin_object();
        json.member("unknown", std::string_view(of.unknown));
        json.key("words");
        json.begin_list();
        for (const auto& known : of.words) write_known(json, known);
        json.end_list();
        json.end_object();
    }
    json.end_list();
}

/// Words that stand for words of the query because of typos.
void write_variants(json_writer& json, const std::vector<found_variants>& variants) {
    constexpr std::size_t shown = 10;
    json.key("variants");
    json.begin_list();
    for (const found_variants& of : variants) {
        json.begin_object();
        json.member("word", std::string_view(of.word));
        json.member("total", static_cast<std::uint64_t>(of.words.size()));
        json.key("words");
        json.begin_list();
        for (const auto& known : std::span(of.words).first(std::min(shown, of.words.size())))
            write_known(json, known);
        json.end_list();
        json.end_object();
    }
    json.end_list();
}

/// The words by which the query was expanded.
void write_similar(json_writer& json, const std::vector<similar_word>& words) {
    json.key("similar_words");
    json.begin_list();
    for (const similar_word& of : words) {
        json.begin_object();
        json.member("word", std::string_view(of.word));
        json.member("similar_to", std::string_view(of.similar_to));
        json.member("weight", of.weight);
        json.end_object();
    }
    json.end_list();
}

/// The words to mark in titles and snippets: those of the query, their variants, and those similar to them.
std::vector<std::string> marked_words(const search_engine& engine, std::string_view query,
                                      const search_result& of) {
    std::vector<std::string> words = engine.discriminative_words_of(query, of.syntax);
    words.insert(words.end(), of.variant_words.begin(), of.variant_words.end());
    for (const similar_word& similar : of.similar_words) words.push_back(similar.word);
    std::ranges::sort(words);
    return words;
}

}  // namespace

std::size_t back_to_character(std::string_view text, std::size_t at) {
    for (int back = 0; back < 3 && at > 0 && at < text.size(); ++back, --at) {
        if ((static_cast<unsigned char>(text[at]) & 0xC0) != 0x80) break;
    }
    return at;
}

std::string_view shortened(std::string_view title, const site_limits& limits) {
    return title.substr(0, back_to_character(title, std::min(title.size(), limits.title_bytes)));
}

const std::vector<api_parameter>& search_parameters() {
    static const std::vector<api_parameter> all = [] {
        const search_request of_request;
        const search_options& of_search = of_request.options;
        const ranking_options& ranking = of_search.ranking;
        const auto explain = option_of<search_options>("explain").with_help(
            "Whether hits contain an explanation of their scores. Then k × words of the query × (1 + expand) "
            "is at "
            "most 20,000.");
        return std::vector{
            parameter_of("q", of_request, "grain stones"),
            parameter_of("k", of_request, "5"),
            parameter_of("offset", of_search, "1"),
            parameter_of("model", ranking, "bm25"),
            parameter_of("k1", ranking, "1.2"),
            parameter_of("b", ranking, "0.75"),
            parameter_of("mu", ranking, "500"),
            parameter_of("lambda", ranking, "0.4"),
            parameter_of("delta", ranking, "0.5"),
            parameter_of("c", ranking, "2"),
            parameter_of("dependence", of_search, "sdm"),
            parameter_of("ordered_weight", of_search, "0.1"),
            parameter_of("unordered_weight", of_search, "0.05"),
            parameter_of("window", of_search, "8"),
            parameter_of("feedback", of_search, "rm3"),
            at_most(100, parameter_of("feedback_documents", of_search, "10")),
            at_most(100, parameter_of("feedback_terms", of_search, "10")),
            parameter_of("original_weight", of_search, "0.5"),
            parameter_of("order", of_search, "1"),
            parameter_of("title_weight", ranking, "1"),
            parameter_of("field_weights", of_search, "title=3,text=1"),
            parameter_of("field_b", of_search, "title=0.2,text=0.75"),
            parameter_of("prior", of_search, "0.05"),
            at_most(max_expansion, parameter_of("expand", of_search, "3")),
            parameter_of("expand_weight", of_search, "0.5"),
            parameter_of("like", of_request, "plain"),
            parameter_of("like_weight", of_search, "2"),
            parameter_of("vector", of_request, "[0.5,-1]"),
            parameter_of("vector_metric", of_search, "ip"),
            parameter_of("fusion", of_search, "sum"),
            parameter_of("fusion_normalize", of_search, "zscore"),
            parameter_of("fusion_constant", of_search, "10"),
            parameter_of("vector_weight", of_search, "0.5"),
            at_most(max_fused, parameter_of("fusion_depth", of_search, "100")),
            at_most(max_suggestions, parameter_of("suggestions", of_search, "2")),
            parameter_of("correct", of_request, "1"),
            parameter_of("phrases", of_search, "1"),
            parameter_of("syntax", of_search, "operators"),
            parameter_of("typos", of_search, "1"),
            parameter_of("prefix_last", of_search, "1"),
            parameter_of("fold", of_search, "accents"),
            parameter_of("filter", of_search, "price < 10"),
            parameter_of("sort", of_search, "-price"),
            parameter_of("facets", of_search, "tag"),
            at_most(max_facet_values, parameter_of("facet_values", of_search, "5")),
            parameter_of("total", of_search, "1"),
            parameter_of("count", of_search, "0"),
            parameter_of("snippets", of_search, "1"),
            parameter_of("parts", of_request, "1"),
            parameter_of(explain, of_search, "1"),
        };
    }();
    return all;
}

const std::vector<api_parameter>& document_parameters() {
    static const std::vector<api_parameter> all = [] {
        const document_request defaults;
        return std::vector{required(parameter_of("id", defaults, "plain")),
                           parameter_of("q", defaults, "grain"), parameter_of("offset", defaults, "2"),
                           parameter_of("bytes", defaults, "100")};
    }();
    return all;
}

const std::vector<api_parameter>& document_path_parameters() {
    static const std::vector<api_parameter> all = [] {
        std::vector<api_parameter> parameters = document_parameters();
        parameters.front().in_path = true;
        parameters.front().about.help = "The document's id, percent-encoded.";
        return parameters;
    }();
    return all;
}

std::string_view query_of(const parameters& given, const site_limits& limits) {
    const auto query = given.text("q");
    if (!query) throw bad_request("q (the query) is missing");
    if (query->size() > limits.query_bytes)
        throw bad_request(fmt::format("q is too long (at most {} bytes)", limits.query_bytes));
    return *query;
}

std::string search_json(const search_engine& engine, const parameters& given, const site_limits& limits,
                        const context& ctx, search_time time) {
    search_request request = read_request(given, engine, limits);
    // Request one more, to see whether there are more results.
    request.options.k = request.options.offset + request.k + 1;
    if (request.options.count) request.options.suggestions = 0;
    const auto begin = std::chrono::steady_clock::now();
    search_result handle = response_of(engine, request, ctx);
    const auto other_query = engine.corrected(request.query, handle.suggestions);
    const bool corrected =
        request.correct && other_query && take_corrected(engine, request, *other_query, handle, ctx);
    const std::string_view finished = corrected ? std::string_view(*other_query) : request.query;
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;

    json_writer json;
    json.begin_object();
    json.member("query", request.query);
    json.member("model", ranking_model_names[static_cast<std::size_t>(request.options.ranking.model)]);
    json.member("offset", static_cast<std::uint64_t>(request.options.offset));
    json.member("k", static_cast<std::uint64_t>(request.k));
    if (time == search_time::written) json.member("seconds", taken.count());
    json.member("syntax", query_syntax_names[static_cast<std::size_t>(handle.syntax)]);
    json.member("syntax_note", handle.syntax_note.empty() ? cell(std::monostate())
                                                          : cell(std::string_view(handle.syntax_note)));
    json.member("total", handle.total ? cell(*handle.total) : cell(std::monostate()));
    const std::string facets = handle.facets.empty() ? "null" : facets_json(handle.facets);
    json.member("facets", raw_json{facets});
    json.flag("empty_query", handle.empty_query);
    json.key("unknown_words");
    json.begin_list();
    for (const std::string& word : handle.unknown_words) json.value(std::string_view(word));
    json.end_list();
    write_suggestions(json, handle.suggestions);
    write_variants(json, handle.variants);
    json.member("did_you_mean", other_query ? cell(std::string_view(*other_query)) : cell(std::monostate()));
    json.member("corrected_query", corrected ? cell(finished) : cell(std::monostate()));
    const auto like = given.text("like");
    json.member("like", like ? cell(*like) : cell(std::monostate()));
    write_similar(json, handle.similar_words);
    std::vector<std::string> marked;
    if (request.parts) marked = marked_words(engine, finished, handle);
    json.flag("more", handle.hits.size() > request.k && request.options.offset + request.k < limits.results);
    json.key("hits");
    json.begin_list();
    for (std::size_t i = 0; i < std::min(handle.hits.size(), request.k); ++i) {
        ctx.check_stop();
        search_hit& hit = handle.hits[i];
        hit.title = shortened(hit.title, limits);
        for (duplicate_hit& copy : hit.duplicates) copy.title = shortened(copy.title, limits);
        write_hit(json, engine, request, marked, hit);
        if (json.size() > limits.response_bytes)
            throw bad_request(
                fmt::format("the response would be longer than {} bytes; request fewer results (k)",
                            limits.response_bytes));
    }
    json.end_list();
    json.end_object();
    return json.take();
}

std::string document_json(const search_engine& engine, std::optional<std::string_view> id,
                          std::string_view query, const site_limits& limits) {
    const parameters given(query, id ? document_path_parameters() : document_parameters());
    document_request request;
    given.read(request);
    if (!id) id = given.text("id");
    if (!id) throw bad_request("id (of the document) is missing");
    const auto document = engine.find(*id);
    if (!document) throw not_found(fmt::format("there is no document '{}'", *id));
    const std::string_view words = given.text("q") ? query_of(given, limits) : std::string_view();
    const stored_document stored = engine.document(*document);
    const std::string_view text = stored.text, title = shortened(stored.title, limits);
    if (request.offset > text.size())
        throw bad_request(fmt::format("offset: the text has only {} bytes", text.size()));
    const std::size_t begin = back_to_character(text, request.offset);
    const std::size_t end = back_to_character(text, std::min(text.size(), begin + request.bytes));
    const std::string_view piece = text.substr(begin, end - begin);

    json_writer json;
    json.begin_object();
    json.member("id", stored.id);
    json.member("title", title);
    json.member("words", std::uint64_t{stored.words});
    write_fields(json, engine, stored.fields);
    json.member("text_bytes", static_cast<std::uint64_t>(text.size()));
    json.member("offset", static_cast<std::uint64_t>(begin));
    json.member("next_offset",
                end < text.size() ? cell(static_cast<std::uint64_t>(end)) : cell(std::monostate()));
    json.member("text", piece);
    if (given.text("q")) {
        const std::vector<std::string> marked =
            engine.discriminative_words_of(words, query_syntax::automatic);
        write_parts(json, "title_parts", engine, title, marked);
        write_parts(json, "text_parts", engine, piece, marked);
    }
    json.end_object();
    return json.take();
}

}  // namespace quern::server
