// SPDX-License-Identifier: Apache-2.0
#include "store.hpp"

#include <nanobind/stl/string.h>

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include "errors.hpp"
#include "fingerprint.hpp"
#include "hits.hpp"
#include "module.hpp"
#include "parameters.hpp"
#include "quern/base/error.hpp"
#include "quern/base/rows.hpp"
#include "quern/tasks/search_option_table.hpp"
#include "quern/tasks/shards.hpp"
#include "quern/tasks/similar.hpp"
#include "quern/tasks/store.hpp"
#include "run.hpp"
#include "table.hpp"
#include "texts.hpp"
#include "topic_run.hpp"

namespace nb = nanobind;

namespace quern::python {
namespace {

std::string fingerprint_of_info(const store_info& info) {
    return fingerprint_of_rows({"property", "value"}, [&](row_writer& rows) {
        for (const auto& [name, value] : properties_of(info)) {
            if (const auto* const text = std::get_if<std::string>(&value))
                rows.row({std::string_view(name), std::string_view(*text)});
            else
                rows.row({std::string_view(name), std::get<std::uint64_t>(value)});
        }
    });
}

/// Of a sharded store: what tells its shards.
std::string fingerprint_of_shards(const std::filesystem::path& path) {
    return fingerprint_of_rows({"documents", "checksum"}, [&](row_writer& rows) {
        for (const shard_info& shard : read_shards(path).shards) rows.row({shard.documents, shard.checksum});
    });
}

std::string fingerprint_at(const std::filesystem::path& path) {
    return is_sharded_store(path) ? fingerprint_of_shards(path) : fingerprint_of_info(read_store_info(path));
}

}  // namespace

opened_folder::opened_folder(const std::filesystem::path& path, const context& ctx)
    : engine_(search_engine::open(path, ctx)),
      path_(std::filesystem::absolute(path).lexically_normal()),
      fingerprint_(engine_.is_sharded() ? fingerprint_of_shards(path_)
                                        : fingerprint_of_info(engine_.store())) {}

const ngram_counter& opened_folder::counter(const context& ctx) const {
    const std::lock_guard held(lock_);
    if (!counter_) {
        auto opened = ngram_counter::open(path_, ctx);
        check_unchanged();
        counter_.emplace(std::move(opened));
    }
    return *counter_;
}

void opened_folder::check_unchanged() const {
    if (fingerprint_at(path_) != fingerprint_) {
        throw usage_error(
            path_.string() +
            " is another store by now: it was replaced or updated since it was opened; open it again");
    }
}

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

const parameters<call>& common_parameters(const char* function) {
    static std::map<std::string, parameters<call>> made;
    const auto at = made.find(function);
    if (at != made.end()) return at->second;
    return made.emplace(function, parameters<call>(function).common()).first->second;
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

std::uint32_t number_of_id(const opened_folder& of, std::string_view id, const char* what) {
    if (const auto number = of.engine().find(id)) return *number;
    const auto near = of.engine().near_id(id);
    refuse(std::string(what) + of.path().filename().string() + " has no document '" + std::string(id) + "'" +
           (near ? "; did you mean '" + std::string(*near) + "'?" : ""));
}

// ---- Search ----

/// Beyond this number of hits, or with work of other lists, a search can take long: Ctrl-C must end it.
constexpr std::size_t quick_hits = 1000;

search_result searched(const opened_folder& of, const std::string& query, const search_options& options) {
    if (options.k <= quick_hits && !options.like && options.vector.empty()) {
        const nb::gil_scoped_release released;
        return of.engine().search(query, options);
    }
    run_options quiet;
    quiet.progress = nb::bool_(false);
    return run_for(quiet, [&](const context& ctx) { return of.engine().search(query, options, ctx); });
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
    run_options quiet;
    quiet.progress = nb::bool_(false);
    return run_for(quiet, [&](const context& ctx) {
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
    std::filesystem::path file;
    if (is_path(topics)) {
        file = text_of("topics", topics);
    } else {
        const nb::object pairs = nb::module_::import_("quern._runs").attr("topics_of")(topics);
        for (const nb::handle pair : pairs)
            list.push_back(
                {text_argument("the id of a topic", pair[0]), text_argument("the text of a topic", pair[1])});
    }
    return run_for(requested.run, [&](const context& ctx) {
        if (!file.empty()) list = read_topics(file, ctx, requested.topic_fields);
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
    run_options quiet;
    quiet.progress = nb::bool_(false);
    made->result = run_for(quiet, [&](const context& ctx) {
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

// ---- Documents ----

nb::object document(const store& self, nb::handle id) {
    std::uint32_t number = 0;
    stored_document found;
    std::string wanted;
    if (nb::isinstance<nb::str>(id)) {
        wanted = text_argument("id", id);
    } else {
        const auto documents = self->engine().documents();
        if (documents == 0) throw nb::index_error("the store has no documents");
        number = static_cast<std::uint32_t>(whole_of("document", id, 0, documents - 1));
    }
    {
        const nb::gil_scoped_release released;
        if (!wanted.empty()) number = number_of_id(*self, wanted, "");
        found = self->engine().document(number);
    }
    return nb::module_::import_("quern._store")
        .attr("Document")(
            number, text_object(found.id), text_object(found.title), text_object(found.text), found.words,
            found.fields.empty() ? nb::object(nb::dict())
                                 : nb::module_::import_("json").attr("loads")(text_object(found.fields)));
}

/// The ids of a store's documents, made when they are read.
struct id_list {
    store of;
};

nb::object id_at(const id_list& ids, std::int64_t at) {
    const auto size = static_cast<std::int64_t>(ids.of->engine().documents());
    if (at < 0) at += size;
    if (at < 0 || at >= size) throw nb::index_error("document out of range");
    return text_object(ids.of->engine().id(static_cast<std::uint32_t>(at)));
}

// ---- Words ----

const word_space& thesaurus_of(const opened_folder& of) {
    if (const word_space* const space = of.engine().thesaurus()) return *space;
    refuse(of.path().filename().string() +
           " has no thesaurus, which similar words need; the stage thesaurus of quern.build makes it");
}

std::uint32_t known_word(const word_space& space, const std::string& typed, const context& ctx) {
    const std::string spelling = space.spelling(typed);
    if (const auto id = space.find(spelling)) return *id;
    std::string near;
    for (const std::uint32_t id : space.near_spellings(spelling, ctx))
        near.append(near.empty() ? "; did you mean " : ", ").append(space.word(id));
    refuse("'" + spelling + "' is not in the vocabulary" + near + (near.empty() ? "" : "?"));
}

std::vector<std::string> words_argument(nb::handle given) {
    std::vector<std::string> words;
    if (nb::isinstance<nb::list>(given) || nb::isinstance<nb::tuple>(given)) {
        for (const nb::handle word : nb::borrow<nb::object>(given))
            words.push_back(text_argument("a word", word));
    } else {
        words.push_back(text_argument("word", given));
    }
    if (words.empty()) refuse("there is no word");
    return words;
}

table similar(const store& self, nb::handle word, nb::handle k, nb::handle all_words) {
    const std::vector<std::string> words = words_argument(word);
    const auto top = static_cast<std::uint32_t>(whole_of("k", k, 1, 0xffffffff));
    const bool all = bool_of("all_words", all_words);
    run_options quiet;
    quiet.progress = nb::bool_(false);
    const word_space& space = thesaurus_of(*self);
    const auto neighbours = run_for(quiet, [&](const context& ctx) {
        word_combination requested;
        for (const std::string& each : words) {
            const bool minus = each.starts_with('-'),
                       sign = each.size() > 1 && (minus || each.starts_with('+'));
            (minus && sign ? requested.minus : requested.plus)
                .push_back(known_word(space, sign ? each.substr(1) : each, ctx));
        }
        return all ? space.similar(requested, top, ctx) : space.similar_but_stop_words(requested, top, ctx);
    });
    text_column names;
    number_column<double> scores;
    for (const neighbour& n : neighbours) {
        names.add(space.word(n.word));
        scores.push_back(n.score);
    }
    table rows("similar words");
    rows.add("word", std::move(names)).add("score", std::move(scores));
    return rows;
}

table contexts(const store& self, nb::handle word, nb::handle other, nb::handle k) {
    const std::string first = text_argument("word", word);
    std::optional<std::string> second;
    if (!other.is_none()) second = text_argument("other", other);
    const auto top = static_cast<std::size_t>(whole_of("k", k, 1));
    run_options quiet;
    quiet.progress = nb::bool_(false);
    const word_space& space = thesaurus_of(*self);
    const auto found = run_for(quiet, [&](const context& ctx) {
        const std::uint32_t id = known_word(space, first, ctx);
        return second ? space.contexts(id, known_word(space, *second, ctx), top) : space.contexts(id, top);
    });
    text_column relations, words;
    number_column<float> weights, weights_of_second;
    for (const shared_context& c : found) {
        relations.add(space.relation(c.relation));
        words.add(space.word(c.word));
        weights.push_back(c.first);
        weights_of_second.push_back(c.second);
    }
    table rows("contexts");
    rows.add("relation", std::move(relations)).add("word", std::move(words));
    if (second) {
        rows.add("weight_of_first", std::move(weights)).add("weight_of_second", std::move(weights_of_second));
    } else {
        rows.add("weight", std::move(weights));
    }
    return rows;
}

nb::object count(const store& self, nb::handle phrase, const nb::kwargs& given) {
    const call requested = common_parameters("count").read(given);
    const std::string text = text_argument("phrase", phrase);
    text_column documents;
    number_column<std::uint32_t> counts, followed;
    const auto found = run_for(requested.run, [&](const context& ctx) {
        const ngram_counter& counter = self->counter(ctx);
        ngram_occurrences occurrences = counter.count(text, ctx);
        for (const ngram_document& d : occurrences.documents) {
            documents.add(counter.id(d.document));
            counts.push_back(d.count);
            followed.push_back(d.followed);
        }
        return occurrences;
    });
    table rows("documents");
    rows.add("document", std::move(documents))
        .add("count", std::move(counts))
        .add("followed", std::move(followed));
    nb::list words, unknown;
    for (const std::string& word : found.words) words.append(text_object(word));
    for (const std::string& word : found.unknown_words) unknown.append(text_object(word));
    return nb::module_::import_("quern._store")
        .attr("Counts")(words, found.count, found.followed, unknown, rows);
}

// ---- The store itself ----

nb::dict info_of(const store& self) {
    nb::dict info;
    for (const auto& [name, value] : properties_of(self->engine().store())) {
        if (const auto* const text = std::get_if<std::string>(&value))
            info[name.c_str()] = *text;
        else
            info[name.c_str()] = std::get<std::uint64_t>(value);
    }
    return info;
}

nb::dict text_options_of(const store& self) {
    nb::dict options;
    const text_options& text = self->engine().text();
    options["language"] = text.language;
    options["tokens"] = std::string(token_rule_names[static_cast<std::size_t>(text.tokens)]);
    options["min_length"] = text.min_length;
    options["stop_words"] = text.stop_words;
    options["stem"] = std::string(stemmer_names[static_cast<std::size_t>(text.stem)]);
    options["fold"] = std::string(folding_names[static_cast<std::size_t>(text.fold)]);
    return options;
}

/// Of a pickle: the store at the path must still be the same.
store reopened(const std::string& path, const std::string& fingerprint) {
    store again = open_store(path, {});
    if (again->fingerprint() != fingerprint) {
        refuse(path + " is another store by now: it was replaced or updated after the pickle was made");
    }
    return again;
}

}  // namespace

store open_store(const std::filesystem::path& path, const run_options& options) {
    return store(run_for(
        options, [&](const context& ctx) { return std::make_shared<const opened_folder>(path, ctx); }));
}

void declare_store(nb::module_& module) {
    declare_hits(module);
    nb::class_<id_list>(module, "Ids",
                        "The ids of a store's documents, in the order of the collection: a sequence of str.")
        .def("__len__", [](const id_list& ids) { return ids.of->engine().documents(); })
        .def(
            "__getitem__",
            [](const id_list& ids, nb::handle key) -> nb::object {
                if (!PySlice_Check(key.ptr())) return id_at(ids, nb::cast<std::int64_t>(key));
                nb::list some;
                const nb::object range = nb::module_::import_("builtins")
                                             .attr("range")(ids.of->engine().documents())
                                             .attr("__getitem__")(key);
                for (const nb::handle at : range) some.append(id_at(ids, nb::cast<std::int64_t>(at)));
                return some;
            },
            nb::sig("def __getitem__(self, key: int | slice, /) -> Any"))
        .def(
            "__iter__",
            [](nb::handle self) { return nb::module_::import_("quern._store").attr("each")(self); },
            nb::sig("def __iter__(self) -> Iterator[str]"))
        .def(
            "__contains__",
            [](const id_list& ids, nb::handle id) {
                return nb::isinstance<nb::str>(id) &&
                       ids.of->engine().find(text_argument("id", id)).has_value();
            },
            nb::sig("def __contains__(self, id: object, /) -> bool"))
        .def(
            "index",
            [](const id_list& ids, nb::handle id) {
                return number_of_id(*ids.of, text_argument("id", id), "");
            },
            nb::arg("id"), nb::sig("def index(self, id: str) -> int"),
            "The number of the document with this id. The first call makes a table of 6 bytes per document.")
        .def(
            "__repr__",
            [](const id_list& ids) {
                return nb::module_::import_("quern._display")
                    .attr("ids_text")(nb::cast(ids, nb::rv_policy::copy));
            },
            nb::sig("def __repr__(self) -> str"));

    nb::class_<store>(module, "Store",
                      R"(A store opened for search: a snapshot, which later changes on disk do not affect.

Made by `quern.open` and `quern.build`. Thread-safe; searches release the interpreter's lock. A pickle holds the absolute
path and the fingerprint, and opens the store again; it fails if the store has changed.)")
        .def("search", search, nb::arg("query") = "", nb::arg("kwargs"),
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
        .def("count_matches", count_matches, nb::arg("query"), nb::arg("kwargs"),
             nb::sig(count_parameters().signature("self, query: str", "int")),
             count_parameters().doc(
                 "The number of documents that `search` finds with k='all', without ranking "
                 "them.\n\n"
                 "Raises UsageError, with `position`, for a query that is not understood. "
                 "Cost: the postings of the query; of required words those of the rarest "
                 "one, looked up in the others."))
        .def("complete", complete, nb::arg("text"), nb::arg("kwargs"),
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
        .def("explain", explain, nb::arg("query"), nb::arg("id"), nb::arg("kwargs"),
             nb::sig(explain_parameters().signature("self, query: str, id: str", "Hits")),
             explain_parameters().doc("Why a document has its score for a query: a `Hits` with this one hit, "
                                      "at its rank, with `explanation`.\n\n"
                                      "Raises UsageError if the query does not find the document. Cost: that "
                                      "of a complete ranking."))
        .def("document", document, nb::arg("id"), nb::sig("def document(self, id: str | int) -> Document"),
             "A document by its id, or by its number from 0: number, id, title, text, words.\n\n"
             "Raises UsageError, with a similar id if there is one, for an unknown id.")
        .def(
            "__contains__",
            [](const store& self, nb::handle id) {
                return nb::isinstance<nb::str>(id) &&
                       self->engine().find(text_argument("id", id)).has_value();
            },
            nb::sig("def __contains__(self, id: object, /) -> bool"),
            "Whether there is a document with this id.")
        .def_prop_ro(
            "ids", [](const store& self) { return id_list{self}; }, nb::sig("def ids(self) -> Ids"),
            "The ids of all documents.")
        .def("similar", similar, nb::arg("word"), nb::arg("k") = 20, nb::arg("all_words") = false,
             nb::sig(
                 "def similar(self, word: str | list[str], k: int = 20, all_words: bool = False) -> Table"),
             "The words of the thesaurus that are used like a word: a table of word and score, most similar "
             "first.\n\n"
             "A list combines words: close to 'king' and '+woman', far from '-man'. Stop words are excluded "
             "unless "
             "`all_words` is set. Raises UsageError, with similar spellings, for an unknown word.")
        .def("contexts", contexts, nb::arg("word"), nb::arg("other") = nb::none(), nb::arg("k") = 20,
             nb::sig("def contexts(self, word: str, other: str | None = None, k: int = 20) -> Table"),
             "The contexts in which a word occurs more often than by chance: relation, word and weight "
             "(pointwise mutual "
             "information, in nats), highest first; with two words those that both share.")
        .def("count", count, nb::arg("phrase"), nb::arg("kwargs"),
             nb::sig(common_parameters("count").signature("self, phrase: str", "Counts")),
             common_parameters("count").doc(
                 "How often words follow each other in the documents, whose titles precede their texts.\n\n"
                 "Returns `words` (after the store's analysis), `count` (in the collection, overlapping ones "
                 "too), "
                 "`followed` (by another word of the document), `unknown_words`, and `documents`, a table of "
                 "document, "
                 "count and followed in the order of the collection."))
        .def(
            "verify",
            [](const store& self, const nb::kwargs& given) {
                const call requested = common_parameters("verify").read(given);
                return run_for(requested.run,
                               [&](const context& ctx) { return verify_store(self->path(), ctx); });
            },
            nb::arg("kwargs"), nb::sig(common_parameters("verify").signature("self", "int")),
            common_parameters("verify").doc("Reads every byte of the folder and checks every checksum; "
                                            "returns the bytes read.\n\nRaises DamagedStore "
                                            "with the section."))
        .def_prop_ro(
            "documents", [](const store& self) { return self->engine().documents(); }, "Number of documents.")
        .def("__len__", [](const store& self) { return self->engine().documents(); })
        .def_prop_ro(
            "vocabulary", [](const store& self) { return self->engine().vocabulary(); },
            "Number of distinct words.")
        .def_prop_ro(
            "path", [](const store& self) { return text_object(self->path().string()); },
            nb::sig("def path(self) -> str"), "Absolute path of the folder.")
        .def_prop_ro(
            "models",
            [](const store& self) {
                nb::list names;
                for (std::size_t i = 0; i < std::size(ranking_model_names); ++i)
                    if (self->engine().ranks_by(static_cast<ranking_model>(i)))
                        names.append(text_object(ranking_model_names[i]));
                return names;
            },
            nb::sig("def models(self) -> list[str]"),
            "The ranking models of its searches, the usual one first: 'impact' alone for a store of weights, "
            "else 'bm25' and the others.")
        .def_prop_ro("info", info_of, nb::sig("def info(self) -> dict[str, str | int]"),
                     "The properties that `quern info` writes: versions, text options, counts, sections with "
                     "checksums.")
        .def_prop_ro("text_options", text_options_of,
                     nb::sig("def text_options(self) -> dict[str, str | int]"),
                     "How text becomes words, in documents and queries.")
        .def_prop_ro(
            "fingerprint", [](const store& self) { return self->fingerprint(); },
            "XXH3-64 of what `quern info STORE --format tsv` writes: equal stores have equal fingerprints.")
        .def(
            "__reduce__",
            [](const store& self) {
                return nb::make_tuple(
                    nb::module_::import_("quern._store").attr("reopened"),
                    nb::make_tuple(text_object(self->path().string()), self->fingerprint()));
            },
            nb::sig("def __reduce__(self) -> tuple[Any, ...]"))
        .def(
            "__eq__",
            [](const store& self, nb::handle other) -> nb::object {
                const store* with = nullptr;
                if (!nb::try_cast(other, with)) return nb::borrow(Py_NotImplemented);
                return nb::bool_(self->fingerprint() == (*with)->fingerprint());
            },
            nb::sig("def __eq__(self, other: object, /) -> bool"))
        .def("__hash__", [](const store& self) { return nb::hash(nb::cast(self->fingerprint())); })
        .def(
            "__repr__",
            [](nb::handle self) { return nb::module_::import_("quern._display").attr("store_text")(self); },
            nb::sig("def __repr__(self) -> str"))
        .def(
            "_repr_html_",
            [](nb::handle self) { return nb::module_::import_("quern._display").attr("store_html")(self); },
            nb::sig("def _repr_html_(self) -> str"));

    module.def("_reopened", [](nb::handle path, const std::string& fingerprint) {
        return reopened(text_argument("path", path), fingerprint);
    });
    module.def("_fingerprint_of_counts", [](const nb::list& documents, const nb::list& counts) {
        return fingerprint_of_rows({"doc", "count"}, [&](row_writer& rows) {
            for (std::size_t row = 0; row < nb::len(documents); ++row) {
                const std::string id = text_argument("a document", documents[row]);
                rows.row({std::string_view(id), nb::cast<std::uint64_t>(counts[row])});
            }
        });
    });
    static const parameters<call> open_parameters = parameters<call>("open").common();
    module.def(
        "open",
        [](const nb::object& path, const nb::kwargs& given) {
            const call requested = open_parameters.read(given);
            return open_store(text_of("path", path), requested.run);
        },
        nb::arg("path"), nb::arg("kwargs"),
        nb::sig(open_parameters.signature("path: str | os.PathLike[str]", "Store")),
        open_parameters.doc("Opens a store that `quern.build` or `quern build` wrote. `memory` limits what "
                            "its queries use: a quarter of it "
                            "each.\n\nRaises UsageError if the path is not a store, and DamagedStore, which "
                            "names the section. "
                            "Cost: a few milliseconds; pages "
                            "are read from disk when they are used."));
}

}  // namespace quern::python
