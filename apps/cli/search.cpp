// SPDX-License-Identifier: Apache-2.0
// quern search
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "answer_queries.hpp"
#include "commands.hpp"
#include "corpus_store.hpp"
#include "quern/base/error.hpp"
#include "quern/tasks/search_option_table.hpp"
#include "server/http_client.hpp"
#include "session.hpp"
#include "values.hpp"

namespace quern::cli {
namespace {

constexpr auto correct_option =
    option_for<&search_request::correct>("correct", "MODE", correction_names,
                                         "If no document contains a word of the query, replace it by a "
                                         "similarly spelled known word: auto (in a table; "
                                         "elsewhere suggest it on standard error), on (JSON lines then have "
                                         "a column corrected_query) or off (the default with --typos never). "
                                         "Never with --topics.");

void declare(command_line& line, search_request& request) {
    line.argument("STORE|CORPUS", store_or_corpus_help, request.path);
    line.arguments(
        "QUERY",
        "Words; several arguments form one query. * finds all documents; so does no word at all with "
        "--filter, --sort or --facets. Without them and without words, queries are read from "
        "standard input, one per line, and the results begin with a column query, numbered from 0.",
        request.words, false);
    line.section("Search options");
    search_options& search = request.search;
    ranking_options& ranking = search.ranking;
    line.option("k", search, "10; 1000 with --topics");
    for (const char* name : {"--top", "--limit", "-n"}) line.hint(name, "for the number of results use -k N");
    line.option("model", ranking);
    line.option("k1", ranking);
    line.option("b", ranking);
    line.option("mu", ranking);
    line.option("lambda", ranking);
    line.option("delta", ranking);
    line.option("c", ranking);
    line.option("order", search);
    line.option("order_model", search);
    line.option("order_weights", search);
    line.option("dependence", search);
    line.option("ordered_weight", search);
    line.option("unordered_weight", search);
    line.option("window", search);
    line.option("feedback", search);
    line.option("feedback_documents", search);
    line.option("feedback_terms", search);
    line.option("original_weight", search);
    line.option("syntax", search, "auto; words with --topics");
    line.option("phrases", search, "on; off with --topics, unless --syntax is operators or auto");
    line.option("typos", search, "auto; never with --topics");
    line.option("prefix_last", search);
    line.option(correct_option, request);
    line.option("filter", search);
    line.option("sort", search);
    line.option("facets", search);
    line.option("facet_values", search);
    line.option("count", search);
    line.option("total", search);
    line.option("explain", search);
    line.option(
        "title_weight", ranking,
        shortest(interactive_title_weight) + "; 0 with --topics: the published models have no titles");
    line.option("field_weights", search);
    line.option("field_b", search);
    line.option("prior", search);
    line.option("expand", search);
    line.option("expand_weight", search);
    line.option("--like", "DOC",
                "Find documents similar to the one with this id, by its vector, with or without a query; "
                "that document is excluded. Requires a store with document vectors.",
                "", [&](const std::string& value) { request.like = value; });
    line.option("like_weight", search);
    line.option(
        "--query-vector", "FILE|JSON",
        "Hybrid search: the vector of the query, a JSON list or a file with one vector; with --topics a file "
        "with one for each topic, by id (JSON lines) or in order. Requires vectors of documents.",
        "", [&](const std::string& value) { request.query_vector = file_name(value); });
    line.option(
        "--vectors", "FILE",
        "Hybrid search: a vector for each document, instead of those that quern build --vectors kept.", "",
        [&](const std::string& value) { request.vectors.file = file_name(value); });
    line.option("vector_metric", search);
    line.option("fusion", search);
    line.option("fusion_normalize", search);
    line.option("fusion_constant", search);
    line.option("vector_weight", search);
    line.option("fusion_depth", search);
    line.option(
        "--topics", "FILE",
        "Run every query of FILE: lines of id, tab, text; JSON lines; or TREC topics. Writes a TREC run. A "
        "GPU (--device) processes many topics at a time, but not with --prior, --expand, --feedback, "
        "--dependence, --like or --order.",
        "", [&](const std::string& value) { request.topics = file_name(value); });
    line.option("--topic-fields", "FIELDS",
                "Fields of TREC topics that make the query: title, desc, narr, separated by commas.", "title",
                [&](const std::string& value) { request.topic_fields = value; });
    line.option("--run", "FILE", "File for the TREC run (topic Q0 id rank score quern).", "--output",
                [&](const std::string& value) { request.run_file = output_name(value); });
    line.section("Options for a corpus");
    declare_corpus(line, request.corpus, corpus_forms::and_indexes);
    declare_text(line, request.text);
    declare_common(line, request.common, {.gpu = true});
    line.example("quern search wiki \"theory of relativity\"",
                 "The ten best documents of a store, as a table.");
    line.example("quern search wiki '\"general relativity\" black holes'",
                 "Only documents with these two words next to each other.");
    line.example("quern search wiki '+mill -wind \"grind stone\"~3 grain*'",
                 "Operators: mill but not wind, two words near each other, words that begin with grain.");
    line.example("quern search wiki 'watermil~1 grinstone' --typos 1",
                 "Words with typos, too; documents with the words themselves come first.");
    line.example("quern search wiki 'title:mill AND (water OR wind)' --count",
                 "How many documents there are.");
    line.example("quern search shop lamp --filter 'price < 20 AND tag != used' --sort price",
                 "Kept fields: which documents, and in which order.");
    line.example("quern search ~/notes garden -k 3 --format jsonl",
                 "A folder, indexed on the fly and remembered.");
    line.example("quern search wiki mill --expand 5 --prior 0.05 --explain",
                 "Similar words and links count too; the output shows what they add.");
    line.example("quern search mine mill --query-vector '[0.1, -0.4, 0.2]'",
                 "Hybrid: the ranking by words and the one by vectors, fused.");
    line.example("quern search wiki --like Windmill", "The pages most similar to a page.");
    line.example("quern search wiki --topics topics.tsv --run bm25.run --k1 1.2 --b 0.75",
                 "A run for quern evaluate or trec_eval.");
}

/// Refuses options that would have no effect.
void refuse_idle_options(command_line& line, const search_request& request) {
    const ranking_model chosen = request.search.ranking.model;
    for (const char* name : {"--k1", "--b"})
        line.require_used(name, uses_k1(chosen), "requires --model bm25 or a variant of it");
    line.require_used("--mu", uses_mu(chosen), "requires --model dirichlet or two-stage");
    line.require_used("--lambda", uses_lambda(chosen), "requires --model ql or two-stage");
    line.require_used("--delta", uses_delta(chosen), "requires --model bm25+ or bm25l");
    line.require_used("--c", uses_c(chosen), "requires --model pl2 or inl2");
    line.require_used("--topic-fields", !request.topics.empty(), "requires --topics");
    line.require_used("--expand-weight", request.search.expand != 0, "requires --expand");
    for (const char* name : {"--feedback-documents", "--feedback-terms", "--original-weight"})
        line.require_used(name, request.search.feedback != feedback_method::none,
                          "requires --feedback rm3 or bo1");
    line.require_used("--order-model", request.search.order > 1, "requires --order above 1");
    line.require_used("--order-weights",
                      request.search.order > 1 && request.search.ngrams == order_model::interpolated,
                      "requires --order above 1, and no --order-model history");
    for (const char* name : {"--ordered-weight", "--unordered-weight", "--window"})
        line.require_used(name, request.search.dependence != dependence_model::none,
                          "requires --dependence sdm");
    const bool weighs_fields = !request.search.field_weights.empty() || !request.search.field_b.empty();
    line.require_used("--title-weight", !weighs_fields,
                      "has no effect with --field-weights and --field-b, which count titles themselves");
    for (const char* name : {"--vectors", "--vector-metric", "--fusion", "--fusion-normalize",
                             "--fusion-constant", "--vector-weight", "--fusion-depth"})
        line.require_used(name, !request.query_vector.empty(), "requires --query-vector");
    line.require_used("--like-weight", request.like.has_value(), "requires --like");
    line.require_used("--facet-values", !request.search.facets.empty(), "requires --facets");
    if (line.given("--filter") && request.search.filter.find_first_not_of(" \t\r\n") == std::string::npos)
        throw usage_error("--filter: an empty expression (expected a comparison, as in 'lang = de')");
    const bool builds = !holds_store(request.path);
    for (const char* name : {"--input-format", "--max-errors", "--files-from"})
        line.require_used(name, builds, "requires a corpus, but the first argument is a store");
}

}  // namespace

int run_search(const command& self, const std::vector<std::string>& arguments) {
    search_request request;
    command_line line(self, "STORE|CORPUS [QUERY]... [OPTION]...",
                      "Ranks the documents that contain at least one word of the query and every phrase in "
                      "double quotes: exact scores, best first, equal scores in the order of the collection, "
                      "any number of results. Writes rank, id, score, title and snippet; with --topics a "
                      "TREC run or, with --format, rows that begin with the topic.");
    declare(line, request);
    line.parse(arguments);
    refuse_idle_options(line, request);
    if (!request.topics.empty() && request.correct == correction::on)
        throw usage_error("--correct on cannot be combined with --topics; topics are never corrected");
    if (request.search.count) {
        for (const char* name : {"-k", "--run", "--explain", "--total", "--correct", "--sort"})
            line.require_used(name, false, "has no effect with --count, which ranks nothing");
    }
    if (!request.run_file.empty() && request.topics.empty()) throw usage_error("--run requires --topics");
    if (!request.topics.empty() && !request.words.empty())
        throw usage_error("a query cannot be combined with --topics");
    if (!request.run_file.empty() && !request.common.output.empty()) {
        throw usage_error("--run and --output name the same file; give only one of them");
    }

    if (request.search.explain && writes_run(request))
        throw usage_error(
            "a TREC run cannot contain explanations; use --explain with --topics and --format, without "
            "--run");
    for (const auto& [name, given] : {std::pair{"--sort", !request.search.sort.empty()},
                                      std::pair{"--facets", !request.search.facets.empty()}}) {
        if (given && writes_run(request))
            throw usage_error(
                fmt::format("a TREC run is ordered by scores and has no facets; use {} with --topics "
                            "and --format, without --run",
                            name));
    }
    if (request.search.order > 1 && !is_likelihood(request.search.ranking.model))
        throw usage_error("--order above 1 requires --model ql, dirichlet or two-stage");

    session job(self, request.common);
    job.follow_links = request.corpus.follow_links;
    // The choice of `auto` depends on the topics; a requested device must be available before the work.
    if (request.topics.empty()) {
        job.choose_device("search without --topics", offered_places::cpu_only);
    } else if (job.ctx.device.where != device_choice::kind::automatic) {
        job.choose_device("search of topics", offered_places::several_gpus);
    }
    const bool interactive = request.topics.empty();
    if (!line.given("-k")) request.search.k = interactive ? 10 : 1000;
    if (!line.given("--title-weight"))
        request.search.ranking.title_weight = interactive ? interactive_title_weight : 0;
    if (!line.given("--syntax"))
        request.search.syntax = interactive ? query_syntax::automatic : query_syntax::words;
    if (!line.given("--typos"))
        request.search.typos = interactive ? typo_tolerance::automatic : typo_tolerance::never;
    else if (request.search.typos == typo_tolerance::never && !line.given("--correct"))
        request.correct = correction::off;
    if (!line.given("--phrases"))
        request.search.phrases = interactive || request.search.syntax != query_syntax::words;
    request.search.suggestions = interactive ? interactive_suggestions : 0;
    const std::string destination = request.run_file.empty() ? request.common.output : request.run_file;
    // Refuse a bad destination before the work, not after it.
    std::vector<std::filesystem::path> read = inputs_of({request.path}, request.corpus);
    read.insert(read.end(), {request.topics, request.text.stop_word_file()});
    output to = job.open_output(destination, std::move(read));

    const bool from_store = holds_store(request.path);
    const auto engine =
        job.stage("open", [&, store = store_for(request.path, request.corpus, request.text, job)] {
            return search_engine::open(store, job.ctx, request.vectors, server::http_shards());
        });
    if (line.given("--model")) engine.require_model(request.search.ranking.model);
    if (!request.query_vector.empty() && request.topics.empty())
        request.search.vector = read_query_vector(request.query_vector, job.ctx);
    if (from_store && request.text.any()) {
        request.search.text = request.text.over(engine.text());
        // A store with accents can be searched without them.
        if (engine.text().fold == folding::none)
            request.search.fold = std::exchange(request.search.text->fold, folding::none);
    }

    const bool like_alone = request.like && interactive && request.words.empty();
    if (like_alone && !line.given("--like-weight")) request.search.like_weight = 1;
    if (request.like) {
        request.search.like = engine.find(*request.like, job.ctx);
        if (!request.search.like) {
            const auto near = engine.near_id(*request.like, job.ctx);
            throw usage_error(fmt::format("--like: {} has no document '{}'{}", request.path, *request.like,
                                          near ? fmt::format("; did you mean '{}'?", *near) : ""));
        }
    }

    const bool of_fields =
        !request.search.filter.empty() || !request.search.sort.empty() || !request.search.facets.empty();
    const bool one = !request.words.empty() || request.like || of_fields || !request.search.vector.empty();
    const found_counts found = !request.topics.empty() ? search_topics_to(engine, request, job, to)
                               : one                   ? search_one(engine, request, job, to)
                                                       : search_lines(engine, request, job, to);
    job.stage("write", [&] { to.commit(); });
    job.statistics.counts["documents"] = engine.documents();
    job.statistics.counts["hits"] = found.hits;
    if (request.search.count || request.search.total) job.statistics.counts["found"] = found.documents;
    job.write_statistics();
    return found.none() ? 1 : 0;
}

}  // namespace quern::cli
