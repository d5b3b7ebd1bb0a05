// SPDX-License-Identifier: Apache-2.0
// The response of /api/search.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "quern/base/error.hpp"
#include "server/json_writer.hpp"
#include "server/marked_text.hpp"
#include "server/search_api.hpp"
#include "server/search_request.hpp"
#include "server/target.hpp"

namespace quern::server {
namespace {

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

/// `marked`: the words to mark in texts, sorted.
void write_hit(json_writer& json, const search_engine& engine, const search_request& request,
               std::span<const std::string> marked, const search_hit& hit) {
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
}

void write_known_words(json_writer& json, std::span<const suggested_words::known> words) {
    json.objects("words", words, [&json](const suggested_words::known& known) {
        json.member("word", std::string_view(known.word));
        json.member("distance", std::uint64_t{known.distance});
        json.member("documents", known.documents);
    });
}

void write_suggestions(json_writer& json, const std::vector<suggested_words>& suggestions) {
    json.objects("suggestions", suggestions, [&json](const suggested_words& of) {
        json.member("unknown", std::string_view(of.unknown));
        write_known_words(json, of.words);
    });
}

/// Words that stand for words of the query because of typos.
void write_variants(json_writer& json, const std::vector<found_variants>& variants) {
    constexpr std::size_t shown = 10;
    json.objects("variants", variants, [&](const found_variants& of) {
        json.member("word", std::string_view(of.word));
        json.member("total", static_cast<std::uint64_t>(of.words.size()));
        write_known_words(json, std::span(of.words).first(std::min(shown, of.words.size())));
    });
}

/// The words by which the query was expanded.
void write_similar(json_writer& json, const std::vector<similar_word>& words) {
    json.objects("similar_words", words, [&json](const similar_word& of) {
        json.member("word", std::string_view(of.word));
        json.member("similar_to", std::string_view(of.similar_to));
        json.member("weight", of.weight);
    });
}

}  // namespace

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
    json.values("unknown_words", handle.unknown_words);
    write_suggestions(json, handle.suggestions);
    write_variants(json, handle.variants);
    json.member("did_you_mean", other_query ? cell(std::string_view(*other_query)) : cell(std::monostate()));
    json.member("corrected_query", corrected ? cell(finished) : cell(std::monostate()));
    const auto like = given.text("like");
    json.member("like", like ? cell(*like) : cell(std::monostate()));
    write_similar(json, handle.similar_words);
    std::vector<std::string> marked;
    if (request.parts) marked = marked_words(engine, finished, handle, ctx);
    json.flag("more", handle.hits.size() > request.k && request.options.offset + request.k < limits.results);
    handle.hits.resize(std::min<std::size_t>(handle.hits.size(), request.k));
    for (search_hit& hit : handle.hits) {
        hit.title = shortened(hit.title, limits);
        for (duplicate_hit& copy : hit.duplicates) copy.title = shortened(copy.title, limits);
    }
    json.objects("hits", handle.hits, [&](const search_hit& hit) {
        ctx.check_stop();
        write_hit(json, engine, request, marked, hit);
        check_size(json, limits, "results (k)");
    });
    json.end_object();
    return json.take();
}

}  // namespace quern::server
