// SPDX-License-Identifier: Apache-2.0
#include <nanobind/stl/string.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "errors.hpp"
#include "hits.hpp"
#include "parameters.hpp"
#include "quern/base/error.hpp"
#include "quern/tasks/search_option_table.hpp"
#include "run.hpp"
#include "store_methods.hpp"
#include "table.hpp"
#include "texts.hpp"
#include "topic_run.hpp"

namespace nb = nanobind;

namespace quern::python {
namespace {

// ---- Parameters ----

struct search_call : call {
    search_options search = interactive_search();
    bool correct = false;
    std::optional<std::string> like, weights;
};
struct topics_call : call {
    nb::object vectors;
    search_options search = [] {
        search_options of_runs;
        of_runs.k = 1000;
        of_runs.phrases = false;
        of_runs.snippets = false;
        of_runs.fields = false;
        of_runs.duplicates = false;
        return of_runs;
    }();
    std::optional<std::string> like;
    std::string topic_fields = "title";
};

constexpr const char* like_help =
    "Find documents similar to the one with this id, by its vector, with or without a query; that document "
    "is excluded. "
    "Requires a store with document vectors.";

void add_like(parameters<search_call>& to) {
    to.add({"like", "str | None", "None", like_help},
           [](search_call& r, nb::handle given) { r.like = text_argument("like", given); });
}

/// A list or an array of one dimension.
std::vector<float> vector_of(std::string_view name, nb::handle given) {
    std::vector<float> made;
    const nb::object numbers = nb::hasattr(given, "tolist") ? given.attr("tolist")() : nb::borrow(given);
    for (const nb::handle number : nb::iter(numbers))
        made.push_back(static_cast<float>(number_of(name, number)));
    if (made.empty()) refuse(std::string(name) + ": expected numbers");
    return made;
}

void add_vector(parameters<search_call>& to) {
    to.add({"vector", "object", "None",
            "Hybrid search: the vector of the query, whose ranking of the documents by their vectors is "
            "fused with "
            "that of the words. Requires a store built with `vectors`."},
           [](search_call& r, nb::handle given) { r.search.vector = vector_of("vector", given); });
}

/// The query that weights of words are.
std::string weights_text(nb::handle weights) {
    return text_argument("weights", nb::module_::import_("quern._runs").attr("weights_text")(weights));
}

const parameters<search_call>& search_parameters() {
    static const parameters<search_call> made = [] {
        parameters<search_call> all("search");
        all.table<&search_call::search>({"count"}).table<&search_call::search, &search_options::ranking>();
        add_like(all);
        add_vector(all);
        all.add({"correct", "bool", "False",
                 "If no document contains a word of the query, search for a similarly spelled known word "
                 "instead."},
                [](search_call& r, nb::handle given) { r.correct = bool_of("correct", given); });
        all.add({"weights", "dict[str, float] | None", "None",
                 "Words and their weights, as a model for learned sparse retrieval gives them, instead of a "
                 "query. "
                 "Requires a store of weights."},
                [](search_call& r, nb::handle given) { r.weights = weights_text(given); });
        return all;
    }();
    return made;
}

const parameters<search_call>& explain_parameters() {
    static const parameters<search_call> made = [] {
        parameters<search_call> all("explain");
        all.table<&search_call::search>({"k", "offset", "explain", "total", "count", "facets", "facet_values",
                                         "vector_metric", "fusion", "fusion_normalize", "fusion_constant",
                                         "vector_weight", "fusion_depth"})
            .table<&search_call::search, &search_options::ranking>();
        add_like(all);
        return all;
    }();
    return made;
}

const parameters<topics_call>& topics_parameters() {
    static const parameters<topics_call> made =
        parameters<topics_call>("search_many")
            .table<&topics_call::search>({"offset", "snippets", "duplicates", "explain", "suggestions",
                                          "prefix_last", "total", "count", "sort", "facets", "facet_values"})
            .table<&topics_call::search, &search_options::ranking>()
            .add({"like", "str | None", "None", like_help},
                 [](topics_call& r, nb::handle given) { r.like = text_argument("like", given); })
            .add({"vectors", "object", "None",
                  "Hybrid search: a vector for each topic, in their order, as rows of an array or lists. "
                  "Requires a store "
                  "built with `vectors`."},
                 [](topics_call& r, nb::handle given) { r.vectors = nb::borrow(given); })
            .add({"topic_fields", "str", "'title'",
                  "Fields of a file of TREC topics that make the query: title, desc, narr, separated by "
                  "commas."},
                 [](topics_call& r, nb::handle given) {
                     r.topic_fields = text_argument("topic_fields", given);
                 })
            .common();
    return made;
}

/// Refuses options that would have no effect, as the command does.
void refuse_idle_options(const nb::kwargs& given, const search_options& options, bool has_like,
                         bool has_vector = false) {
    if (given.empty()) return;
    const auto refuse_unless = [&](const char* name, bool used, const char* why) {
        if (!used && given.contains(name) && !given[name].is_none()) refuse(std::string(name) + ": " + why);
    };
    const ranking_model chosen = options.ranking.model;
    for (const char* name : {"k1", "b"})
        refuse_unless(name, uses_k1(chosen), "requires model='bm25' or a variant of it");
    refuse_unless("mu", uses_mu(chosen), "requires model='dirichlet' or 'two-stage'");
    refuse_unless("lambda_", uses_lambda(chosen), "requires model='ql' or 'two-stage'");
    refuse_unless("delta", uses_delta(chosen), "requires model='bm25+' or 'bm25l'");
    refuse_unless("c", uses_c(chosen), "requires model='pl2' or 'inl2'");
    for (const char* name :
         {"vector_metric", "fusion", "fusion_normalize", "fusion_constant", "vector_weight", "fusion_depth"})
        refuse_unless(name, has_vector, "requires a query vector");
    refuse_unless("expand_weight", options.expand != 0, "requires expand");
    refuse_unless("title_weight", options.field_weights.empty() && options.field_b.empty(),
                  "has no effect with field_weights and field_b, which count titles themselves");
    refuse_unless("like_weight", has_like, "requires like");
    for (const char* name : {"feedback_documents", "feedback_terms", "original_weight"})
        refuse_unless(name, options.feedback != feedback_method::none, "requires feedback='rm3' or 'bo1'");
    refuse_unless("order_model", options.order > 1, "requires order above 1");
    refuse_unless("order_weights", options.order > 1 && options.ngrams == order_model::interpolated,
                  "requires order above 1, and not order_model='history'");
    for (const char* name : {"ordered_weight", "unordered_weight", "window"})
        refuse_unless(name, options.dependence != dependence_model::none, "requires dependence='sdm'");
}

/// Refuses a model that does not rank the store, if the call names it.
void require_given_model(const store& of, const nb::kwargs& given, const search_options& options) {
    if (given.contains("model") && !given["model"].is_none())
        of->engine().require_model(options.ranking.model);
}

// ---- Search ----

/// Beyond this number of hits, or with work of other lists, a search can take long: Ctrl-C must end it.
constexpr std::size_t quick_hits = 1000;

search_result searched(const opened_folder& of, const std::string& query, const search_options& options) {
    if (options.k <= quick_hits && !options.like && options.vector.empty()) {
        const nb::gil_scoped_release released;
        return of.engine().search(query, options);
    }
    return run_quietly([&](const context& ctx) { return of.engine().search(query, options, ctx); });
}

/// Without a query the score of `like` is the similarity itself.
void set_weight_of_like_alone(const nb::kwargs& given, std::string_view query, search_options& options) {
    const bool has_weight = given.contains("like_weight") && !given["like_weight"].is_none();
    if (!has_weight && query.find_first_not_of(" \t\r\n") == std::string_view::npos) options.like_weight = 1;
}

struct completion_call : call {
    completion_options completion;
};

const parameters<completion_call>& completion_parameters() {
    static const auto made = parameters<completion_call>("complete").table<&completion_call::completion>();
    return made;
}

table complete(const store& self, nb::handle text, const nb::kwargs& given) {
    const completion_options options = completion_parameters().read_given(given).completion;
    const std::string typed = text_argument("text", text);
    completion_result found;
    {
        const nb::gil_scoped_release released;
        found = self->engine().complete(typed, options, context());
    }
    text_column words, queries;
    number_column<std::uint64_t> documents, occurrences;
    number_column<std::uint32_t> distances;
    for (const completed_word& of : found.words) {
        words.add(of.word);
        queries.add(found.before + of.word);
        documents.push_back(of.documents);
        occurrences.push_back(of.occurrences);
        distances.push_back(of.distance);
    }
    table rows("words");
    rows.add("word", std::move(words))
        .add("query", std::move(queries))
        .add("documents", std::move(documents))
        .add("occurrences", std::move(occurrences))
        .add("distance", std::move(distances));
    return rows;
}

hits search(const store& self, nb::handle query, const nb::kwargs& given) {
    search_call requested = search_parameters().read_given(given);
    search_options& options = requested.search;
    refuse_idle_options(given, options, requested.like.has_value(), !options.vector.empty());
    require_given_model(self, given, options);
    auto made = std::make_shared<found>();
    made->query = text_argument("query", query);
    if (requested.weights) {
        if (self->engine().store().listed != word_listing::weights)
            refuse("weights: requires a store of weights");
        if (!made->query.empty()) refuse("weights: cannot be combined with a query");
        made->query = *requested.weights;
    }
    if (requested.like) {
        set_weight_of_like_alone(given, made->query, options);
        const nb::gil_scoped_release released;
        options.like = number_of_id(*self, *requested.like, "like: ");
    }
    made->result = searched(*self, made->query, options);
    made->opened = self;
    made->explained = options.explain;
    made->given_query = nb::borrow(query);
    made->arguments = given;
    if (requested.correct && !made->result.unknown_words.empty()) {
        auto corrected = self->engine().corrected(made->query, made->result.suggestions);
        if (corrected) {
            search_result other = searched(*self, *corrected, options);
            if (!other.hits.empty()) {
                made->result = std::move(other);
                made->query = *corrected;
                made->corrected = std::move(corrected);
            }
        }
    }
    return {std::move(made)};
}

const parameters<search_call>& count_parameters() {
    static const parameters<search_call> made = [] {
        parameters<search_call> all("count_matches");
        all.table<&search_call::search>({"k",
                                         "offset",
                                         "snippets",
                                         "duplicates",
                                         "explain",
                                         "like_weight",
                                         "prior",
                                         "suggestions",
                                         "total",
                                         "count",
                                         "order",
                                         "order_model",
                                         "order_weights",
                                         "expand_weight",
                                         "sort",
                                         "facets",
                                         "facet_values",
                                         "vector_metric",
                                         "fusion",
                                         "fusion_normalize",
                                         "fusion_constant",
                                         "vector_weight",
                                         "fusion_depth"});
        add_like(all);
        return all;
    }();
    return made;
}

std::uint64_t count_matches(const store& self, nb::handle query, const nb::kwargs& given) {
    search_call requested = count_parameters().read_given(given);
    search_options& options = requested.search;
    options.count = true;
    options.snippets = options.duplicates = false;
    options.suggestions = 0;
    const std::string text = text_argument("query", query);
    return run_quietly([&](const context& ctx) {
        if (requested.like) options.like = number_of_id(*self, *requested.like, "like: ");
        return *self->engine().search(text, options, ctx).total;
    });
}

topic_run search_many(const store& self, const nb::object& topics, const nb::kwargs& given) {
    topics_call requested = topics_parameters().read(given);
    search_options& options = requested.search;
    std::vector<std::vector<float>> vectors;
    if (requested.vectors.is_valid() && !requested.vectors.is_none())
        for (const nb::handle row : nb::iter(requested.vectors)) vectors.push_back(vector_of("vectors", row));
    refuse_idle_options(given, options, requested.like.has_value(), !vectors.empty());
    require_given_model(self, given, options);
    if (options.syntax != query_syntax::words && !given.contains("phrases")) options.phrases = true;
    if (requested.like) options.like = number_of_id(*self, *requested.like, "like: ");
    std::vector<search_topic> list;
    std::optional<std::filesystem::path> file;
    if (is_path(topics)) {
        file = text_of("topics", topics);
    } else {
        const nb::object pairs = nb::module_::import_("quern._runs").attr("topics_of")(topics);
        for (const nb::handle pair : pairs)
            list.push_back(
                {text_argument("the id of a topic", pair[0]), text_argument("the text of a topic", pair[1])});
    }
    return run_for(requested.run, [&](const context& ctx) {
        if (file) list = read_topics(*file, ctx, requested.topic_fields);
        if (list.empty()) ctx.log(log_level::warning, "there are no topics");
        if (!vectors.empty() && vectors.size() != list.size())
            throw usage_error(std::to_string(vectors.size()) + " vectors for " + std::to_string(list.size()) +
                              " topics");
        for (std::size_t i = 0; i < vectors.size(); ++i) list[i].vector = std::move(vectors[i]);
        run_builder made;
        self->engine().search_each(
            list, options, ctx, {},
            [&](const search_topic& topic, const search_result& result, std::string_view) {
                if (result.hits.empty()) {
                    ctx.log(log_level::warning, "topic " + topic.id + ": nothing found");
                    return;
                }
                made.begin(topic.id);
                for (const search_hit& hit : result.hits) made.add(hit.id, hit.rank, hit.score);
            });
        return made.take();
    });
}

/// The score of one document: its rank first, then that hit alone.
hits explain(const store& self, nb::handle query, nb::handle id, const nb::kwargs& given) {
    search_call requested = explain_parameters().read_given(given);
    search_options& options = requested.search;
    refuse_idle_options(given, options, requested.like.has_value());
    require_given_model(self, given, options);
    auto made = std::make_shared<found>();
    made->query = text_argument("query", query);
    if (requested.like) set_weight_of_like_alone(given, made->query, options);
    const std::string wanted = text_argument("id", id);
    made->result = run_quietly([&](const context& ctx) {
        if (requested.like) options.like = number_of_id(*self, *requested.like, "like: ");
        const std::uint32_t number = number_of_id(*self, wanted, "");
        search_options all = options;
        all.k = std::numeric_limits<std::size_t>::max();
        all.snippets = all.duplicates = false;
        all.suggestions = 0;
        const search_result ranking = self->engine().search(made->query, all, ctx);
        const auto at = std::ranges::find(ranking.hits, number, &search_hit::document);
        if (at == ranking.hits.end()) refuse("the query does not find the document '" + wanted + "'");
        options.k = at->rank;
        options.offset = at->rank - 1;
        options.explain = true;
        return self->engine().search(made->query, options, ctx);
    });
    made->opened = self;
    made->explained = true;
    made->given_query = nb::borrow(query);
    made->given_id = nb::borrow(id);
    made->arguments = given;
    return {std::move(made)};
}

}  // namespace

void declare_searches(nb::class_<store>& to) {
    to.def("search", search, nb::arg("query").none() = "", nb::arg("kwargs"),
           nb::sig(search_parameters().signature("self, query: str = ''", "Hits")),
           search_parameters().doc("The best documents for a query.\n\nReturns `Hits`, a sequence of hits: "
                                   "exact scores, best first, equal "
                                   "scores in the order of the collection. Text in double quotes is a "
                                   "phrase. The defaults are those of the "
                                   "command line: titles count, and unknown words get suggestions.\n\n"
                                   "Raises UsageError for options out of range, or that the store or the "
                                   "model does not support. Cost: "
                                   "microseconds to milliseconds; docs/search.md has the formulas (BM25 of "
                                   "Robertson and Zaragoza 2009, "
                                   "query likelihood of Zhai and Lafferty 2004).\n\n"
                                   ">>> import quern\n"
                                   ">>> store = quern.build([('mill', 'Grain is ground.'), ('sea', "
                                   "'Salt.')], 'docs.store', force=True).store\n"
                                   ">>> [hit.id for hit in store.search('grain')]\n"
                                   "['mill']"))
        .def("count_matches", count_matches, nb::arg("query").none(), nb::arg("kwargs"),
             nb::sig(count_parameters().signature("self, query: str", "int")),
             count_parameters().doc(
                 "The number of documents that `search` finds with k='all', without ranking "
                 "them.\n\n"
                 "Raises UsageError, with `position`, for a query that is not understood. "
                 "Cost: the postings of the query; of required words those of the rarest "
                 "one, looked up in the others."))
        .def("complete", complete, nb::arg("text").none(), nb::arg("kwargs"),
             nb::sig(completion_parameters().signature("self, text: str", "Table")),
             completion_parameters().doc(
                 "The words of the store that complete the last word of a text: a table of word, query (the "
                 "text "
                 "with this word), documents, occurrences and distance (in edits), by distance, then most "
                 "documents first, then in byte order.\n\n"
                 "Complete: all words that begin so are considered. Empty if the text ends with a blank. "
                 "Cost: "
                 "microseconds; with typos, a walk over the vocabulary."))
        .def("search_many", search_many, nb::arg("topics"), nb::arg("kwargs"),
             nb::sig(topics_parameters().signature("self, topics: object", "Run")),
             topics_parameters().doc("Runs many queries and returns a `Run`.\n\n`topics`: a dict of ids and "
                                     "queries; a list of queries, whose "
                                     "ids are then their numbers from 0; a list of pairs (id, query); a "
                                     "frame or Arrow table with columns for "
                                     "both; or the path of a file (`id TAB query`, JSON lines, TREC topics). "
                                     "The defaults are those of "
                                     "`quern search --topics`: the published models, without titles and "
                                     "phrases. `run.write` writes the same "
                                     "bytes. A topic without hits is not in the run; a warning is logged.\n\n"
                                     "Runs on all threads, or many topics at a time on a GPU, but not with "
                                     "prior, expand, like or order."))
        .def("explain", explain, nb::arg("query").none(), nb::arg("id").none(), nb::arg("kwargs"),
             nb::sig(explain_parameters().signature("self, query: str, id: str", "Hits")),
             explain_parameters().doc("Why a document has its score for a query: a `Hits` with this one hit, "
                                      "at its rank, with `explanation`.\n\n"
                                      "Raises UsageError if the query does not find the document. Cost: that "
                                      "of a complete ranking."));
}

}  // namespace quern::python
