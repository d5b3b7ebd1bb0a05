// SPDX-License-Identifier: Apache-2.0
#include "server/search_api.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "quern/base/error.hpp"
#include "quern/tasks/search_option_table.hpp"
#include "quern/tasks/similar.hpp"
#include "server/search_request.hpp"
#include "server/target.hpp"

namespace quern::server {
namespace {

constexpr std::uint64_t max_expansion = 20, max_suggestions = 20, max_facet_values = 1000,
                        max_fused = 100'000;

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

}  // namespace

search_request read_request(const parameters& given, const search_engine& engine, const site_limits& limits) {
    search_request request;
    request.k = std::min<std::size_t>(request.k, limits.results);
    given.read(request);
    given.read(request.options);
    given.read(request.options.ranking);
    if (given.text("model") && !engine.ranks_by(request.options.ranking.model)) {
        throw bad_request(request.options.ranking.model == ranking_model::impact
                              ? "model: impact needs a store of learned weights"
                              : "model: a store of learned weights is ranked by impact only");
    }
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
        if (const std::size_t size = request.options.vector.size(); size != engine.vector_dimensions())
            throw bad_request(fmt::format("vector: {} numbers (expected {}, as the documents' vectors have)",
                                          size, engine.vector_dimensions()));
    }
    if (const auto filter = given.text("filter");
        filter && filter->find_first_not_of(" \t\r\n") == std::string_view::npos)
        throw bad_request("filter: an empty expression (expected a comparison, as in lang = de)");
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

const std::vector<api_parameter>& search_parameters() {
    static const std::vector<api_parameter> all = [] {
        static const search_request of_request;
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
            parameter_of("order_model", of_search, "interpolated"),
            parameter_of("order_weights", of_search, "0.1 0.05"),
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
            store_parameter(),
        };
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

}  // namespace quern::server
