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
#include "quern/tasks/similar.hpp"
#include "server/json_writer.hpp"
#include "server/target.hpp"

namespace quern::server {
namespace {

constexpr std::array<std::string_view, 20> search_parameters{
    "q",       "k",        "offset",        "model",   "k1",
    "b",       "mu",       "lambda",        "order",   "title_weight",
    "prior",   "expand",   "expand_weight", "like",    "like_weight",
    "phrases", "snippets", "parts",         "explain", "suggestions"};
constexpr std::uint64_t most_expansion = 20, most_suggestions = 20;
constexpr std::array<std::string_view, 4> document_parameters{"id", "q", "offset", "bytes"};

struct search_request {
    std::string_view query;
    std::size_t k = 10;  ///< after the offset
    bool parts = false;
    search_options options;
};

/// The lists beside the words'.
void read_lists(const parameters& given, const search_engine& engine, bool like_alone,
                search_options& options) {
    const auto need = [](std::string_view name, bool there, std::string_view what) {
        if (!there) throw bad_request(fmt::format("{}: the store has no {}", name, what));
    };
    options.prior = given.number("prior").value_or(0);
    if (options.prior != 0) need("prior", engine.has_link_ranks(), "link ranks");
    options.expand = static_cast<std::uint32_t>(given.integer("expand", 0, most_expansion).value_or(0));
    if (options.expand != 0) {
        need("expand", engine.has_thesaurus(), "thesaurus");
        if (const auto most = engine.thesaurus()->question().top; options.expand > most)
            throw bad_request(
                fmt::format("expand: the thesaurus has {} similar words of each at most", most));
    }
    options.expand_weight = given.number("expand_weight").value_or(options.expand_weight);
    options.like_weight = given.number("like_weight").value_or(like_alone ? 1 : options.like_weight);
    if (const auto id = given.text("like")) {
        need("like", engine.has_document_vectors(), "document vectors");
        options.like = engine.find(*id);
        if (!options.like) throw bad_request(fmt::format("like: there is no document '{}'", *id));
    }
}

/// An explanation has as many terms as a query has words, with those similar to each; a request of 2 KiB has thousands.
void refuse_long_explanations(const search_request& request, const search_engine& engine,
                              const site_limits& limits) {
    const std::size_t words = engine.words_of(request.query).size();
    const std::size_t terms = std::max<std::size_t>(words, 1) * (1 + std::size_t{request.options.expand});
    if (request.k * terms > limits.explained_terms)
        throw bad_request(fmt::format("explain: with {} terms each, {} results may be asked for at a time",
                                      terms, std::max<std::size_t>(1, limits.explained_terms / terms)));
}

search_request read_request(const parameters& given, const search_engine& engine, const site_limits& limits) {
    search_request request;
    if (given.text("q") || !given.text("like")) request.query = query_of(given, limits);
    read_lists(given, engine, request.query.empty() && given.text("like"), request.options);
    request.k = given.integer("k", 1, limits.results).value_or(std::min<std::size_t>(10, limits.results));
    request.options.offset = given.integer("offset", 0, limits.results).value_or(0);
    if (request.options.offset + request.k > limits.results)
        throw bad_request(fmt::format("offset and k together may be {} at most", limits.results));
    request.parts = given.choice("parts").value_or(false);
    request.options.phrases = given.choice("phrases").value_or(true);
    request.options.order = static_cast<unsigned>(given.integer("order", 1, most_query_order).value_or(1));
    if (request.options.order > 1 && request.query.size() > limits.history_query_bytes)
        throw bad_request(
            fmt::format("q may hold {} bytes at most with an order beyond 1", limits.history_query_bytes));
    request.options.explain = given.choice("explain").value_or(false);
    if (request.options.explain) refuse_long_explanations(request, engine, limits);
    request.options.snippets = given.choice("snippets").value_or(true);
    request.options.suggestions =
        given.integer("suggestions", 0, most_suggestions).value_or(suggestions_for_people);
    ranking_options& ranking = request.options.ranking;
    ranking.model = static_cast<ranking_model>(given.name("model", ranking_model_names).value_or(0));
    ranking.k1 = given.number("k1").value_or(ranking.k1);
    ranking.b = given.number("b").value_or(ranking.b);
    ranking.mu = given.number("mu").value_or(ranking.mu);
    ranking.lambda = given.number("lambda").value_or(ranking.lambda);
    ranking.title_weight = given.number("title_weight").value_or(title_weight_for_people);
    return request;
}

search_answer answer_of(const search_engine& engine, const search_request& request, const context& run) {
    try {
        return engine.search(request.query, request.options, run);
    } catch (
        const usage_error& e) {  // of options out of range: the engine reads nothing else that may be refused
        throw bad_request(e.what());
    }
}

/// A text as pieces that are and are not among the marked words, by turns; the first is not.
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

/// Where a character begins, at or before `at`.
std::size_t back_to_character(std::string_view text, std::size_t at) {
    for (int back = 0; back < 3 && at > 0 && at < text.size(); ++back, --at) {
        if ((static_cast<unsigned char>(text[at]) & 0xC0) != 0x80) break;
    }
    return at;
}

/// A title as answers have it.
std::string_view shortened(std::string_view title, const site_limits& limits) {
    return title.substr(0, back_to_character(title, std::min(title.size(), limits.title_bytes)));
}

/// `marked`: the words to be marked in texts, sorted.
void write_hit(json_writer& json, const search_engine& engine, const search_request& request,
               std::span<const std::string> marked, const search_hit& hit) {
    json.begin_object();
    json.member("rank", static_cast<std::uint64_t>(hit.rank));
    json.member("id", hit.id);
    json.member("score", hit.score);
    json.member("title", hit.title);
    if (request.options.snippets) json.member("snippet", std::string_view(hit.snippet));
    if (engine.copies() != 0) {
        const std::string copies = copies_json(hit);
        json.member("copies", raw_json{copies});
        json.member("copy_count", hit.copy_count);
    }
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

/// The query with the first suggestion in the place of each unknown word; nothing where there is none.
std::optional<std::string> meant(const search_engine& engine, std::string_view query,
                                 const std::vector<suggested_words>& suggestions) {
    struct change {
        text_match at;
        std::string_view word;
    };
    std::vector<change> changes;
    for (const suggested_words& of : suggestions)
        for (const text_match& at : engine.matches(query, std::span(&of.unknown, 1)))
            changes.push_back({at, of.words[0].word});
    if (changes.empty()) return {};
    std::ranges::sort(changes, {}, [](const change& c) { return c.at.begin; });
    std::string text;
    std::size_t done = 0;
    for (const change& c : changes) {
        if (c.at.begin < done) continue;
        text.append(query.substr(done, c.at.begin - done)).append(c.word);
        done = c.at.end;
    }
    return text.append(query.substr(done));
}

void write_suggestions(json_writer& json, const std::vector<suggested_words>& suggestions) {
    json.key("suggestions");
    json.begin_list();
    for (const suggested_words& of : suggestions) {
        json.begin_object();
        json.member("unknown", std::string_view(of.unknown));
        json.key("words");
        json.begin_list();
        for (const auto& known : of.words) {
            json.begin_object();
            json.member("word", std::string_view(known.word));
            json.member("distance", std::uint64_t{known.distance});
            json.member("documents", known.documents);
            json.end_object();
        }
        json.end_list();
        json.end_object();
    }
    json.end_list();
}

/// Words that were asked for beside the query's.
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

/// Which words of titles and snippets are marked: those of the query, and those similar to them.
std::vector<std::string> marked_words(const search_engine& engine, std::string_view query,
                                      const std::vector<similar_word>& similar) {
    std::vector<std::string> words = engine.telling_words_of(query);
    for (const similar_word& of : similar) words.push_back(of.word);
    std::ranges::sort(words);
    return words;
}

}  // namespace

std::string_view query_of(const parameters& given, const site_limits& limits) {
    const auto query = given.text("q");
    if (!query) throw bad_request("q, the query, is missing");
    if (query->size() > limits.query_bytes)
        throw bad_request(fmt::format("q may hold {} bytes at most", limits.query_bytes));
    return *query;
}

std::string search_json(const search_engine& engine, std::string_view query, const site_limits& limits,
                        const context& run) {
    const parameters given(query, search_parameters);
    search_request request = read_request(given, engine, limits);
    // One more than asked for tells whether there is more.
    request.options.k = request.options.offset + request.k + 1;
    const auto begin = std::chrono::steady_clock::now();
    search_answer answer = answer_of(engine, request, run);
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;

    json_writer json;
    json.begin_object();
    json.member("query", request.query);
    json.member("model", ranking_model_names[static_cast<std::size_t>(request.options.ranking.model)]);
    json.member("offset", static_cast<std::uint64_t>(request.options.offset));
    json.member("k", static_cast<std::uint64_t>(request.k));
    json.member("seconds", taken.count());
    json.flag("empty_query", answer.empty_query);
    json.key("unknown_words");
    json.begin_list();
    for (const std::string& word : answer.unknown_words) json.value(std::string_view(word));
    json.end_list();
    write_suggestions(json, answer.suggestions);
    const auto other_query = meant(engine, request.query, answer.suggestions);
    json.member("did_you_mean", other_query ? cell(std::string_view(*other_query)) : cell(std::monostate()));
    const auto like = given.text("like");
    json.member("like", like ? cell(*like) : cell(std::monostate()));
    write_similar(json, answer.similar_words);
    std::vector<std::string> marked;
    if (request.parts) marked = marked_words(engine, request.query, answer.similar_words);
    json.flag("more", answer.hits.size() > request.k && request.options.offset + request.k < limits.results);
    json.key("hits");
    json.begin_list();
    for (std::size_t i = 0; i < std::min(answer.hits.size(), request.k); ++i) {
        run.check_stop();
        search_hit& hit = answer.hits[i];
        hit.title = shortened(hit.title, limits);
        for (hit_copy& copy : hit.copies) copy.title = shortened(copy.title, limits);
        write_hit(json, engine, request, marked, hit);
        if (json.size() > limits.answer_bytes)
            throw bad_request(fmt::format(
                "the answer would be longer than {} bytes; fewer results at a time (k) are shorter",
                limits.answer_bytes));
    }
    json.end_list();
    json.end_object();
    return json.take();
}

std::string document_json(const search_engine& engine, std::optional<std::string_view> id,
                          std::string_view query, const site_limits& limits) {
    const parameters given(query, std::span(document_parameters).subspan(id ? 1 : 0));
    if (!id) id = given.text("id");
    if (!id) throw bad_request("id, of the document, is missing");
    const auto document = engine.find(*id);
    if (!document) throw not_found(fmt::format("there is no document '{}'", *id));
    const std::string_view words = given.text("q") ? query_of(given, limits) : std::string_view();
    const std::size_t bytes = given.integer("bytes", 4, limits.most_text_bytes).value_or(limits.text_bytes);
    const stored_document stored = engine.document(*document);
    const std::string_view text = stored.text, title = shortened(stored.title, limits);
    const std::size_t asked = given.integer("offset", 0, text.size()).value_or(0);
    const std::size_t begin = back_to_character(text, asked);
    const std::size_t end = back_to_character(text, std::min(text.size(), begin + bytes));
    const std::string_view piece = text.substr(begin, end - begin);

    json_writer json;
    json.begin_object();
    json.member("id", stored.id);
    json.member("title", title);
    json.member("words", std::uint64_t{stored.words});
    json.member("text_bytes", static_cast<std::uint64_t>(text.size()));
    json.member("offset", static_cast<std::uint64_t>(begin));
    json.member("next_offset",
                end < text.size() ? cell(static_cast<std::uint64_t>(end)) : cell(std::monostate()));
    json.member("text", piece);
    if (given.text("q")) {
        const std::vector<std::string> marked = engine.telling_words_of(words);
        write_parts(json, "title_parts", engine, title, marked);
        write_parts(json, "text_parts", engine, piece, marked);
    }
    json.end_object();
    return json.take();
}

}  // namespace quern::server
