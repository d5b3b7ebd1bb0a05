// SPDX-License-Identifier: Apache-2.0
// quern search
#include "quern/tasks/search.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <limits>
#include <span>

#include "commands.hpp"
#include "hit_rows.hpp"
#include "input_lines.hpp"
#include "quern/base/error.hpp"
#include "session.hpp"
#include "values.hpp"

namespace quern::cli {
namespace {

struct search_request {
    common_options common;
    search_options search;
    build_options corpus;
    text_choice text;
    std::string path, topics, run_file;
    std::vector<std::string> words;
    std::optional<std::size_t> k;
    std::optional<double> title_weight, like_weight;
    std::optional<bool> phrases;
    std::optional<std::string> like;
};

/// Of a list that is joined to the words.
double weight(const std::string& value, bool zero, double most) {
    const double parsed = parse_number(value);
    if (!((parsed > 0 || (zero && parsed == 0)) && parsed <= most))
        throw usage_error(
            fmt::format("'{}' is not a number {} to {}", value, zero ? "from 0" : "above 0, up", most));
    return parsed;
}

void declare(command_line& line, search_request& request) {
    line.argument(
        "STORE|CORPUS",
        "A store, or a corpus as for quern build: its store is built once and kept in the "
        "cache folder ($QUERN_CACHE, else $XDG_CACHE_HOME/quern, else ~/.cache/quern) as long as the files "
        "stay the same.",
        request.path);
    line.arguments("QUERY",
                   "Words; several arguments are one query. Without any, queries are read from standard "
                   "input, one a line, and the results begin with a column query, numbered from 0.",
                   request.words, false);
    line.section("Search options");
    line.option("-k", "N", "Results per query; all for the complete ranking.", "10; 1000 with --topics",
                [&](const std::string& value) {
                    request.k = value == "all"
                                    ? std::numeric_limits<std::size_t>::max()
                                    : parse_integer(value, 1, std::numeric_limits<std::size_t>::max());
                });
    ranking_options& ranking = request.search.ranking;
    line.option("--model", "MODEL",
                "bm25, or query likelihood: ql (Jelinek-Mercer), dirichlet or two-stage (Dirichlet, then "
                "Jelinek-Mercer).",
                "bm25", [&](const std::string& value) {
                    ranking.model = parse_name<ranking_model>(value, ranking_model_names);
                });
    const auto number = [&](const char* name, const char* help, double& target) {
        line.option(name, "X", help, shortest(target), [&](const std::string& value) {
            target = parse_number(value);
            // Refuses parameters out of range, by the option's name.
            search({}, {}, request.search.ranking, 0);
        });
    };
    number("--k1", "bm25: how soon more occurrences of a word stop to count; 0 or more.", ranking.k1);
    number("--b", "bm25: how much long documents are held back; 0 to 1.", ranking.b);
    number("--mu", "dirichlet, two-stage: words of the collection mixed into each document; above 0.",
           ranking.mu);
    number("--lambda", "ql, two-stage: weight of the document against the collection; above 0, below 1.",
           ranking.lambda);
    line.option("--order", "N",
                "ql: how likely a word is behind the N - 1 words of the query before it, or behind as many "
                "of them as "
                "the collection holds with it; 1 to 32.",
                "1", [&](const std::string& value) {
                    request.search.order = static_cast<unsigned>(parse_integer(value, 1, most_query_order));
                });
    line.option(
        "--phrases", "on|off",
        "Whether text in double quotes is a phrase: its words must stand together in every result, and score "
        "as one word.",
        "on; off with --topics", [&](const std::string& value) {
            request.phrases = parse_choice<bool>(value, {{"on", true}, {"off", false}});
        });
    line.flag("--explain",
              "Each term's part of each score: under the results in a table, as a last column explanation in "
              "TSV and "
              "JSON lines.",
              request.search.explain);
    line.option("--title-weight", "X",
                "What a query word in a document's title adds, in units of the word's idf; 0 to 100.",
                shortest(title_weight_for_people) + "; 0 with --topics: the published models know no titles",
                [&](const std::string& value) { request.title_weight = weight(value, true, 100); });
    line.option(
        "--prior", "X",
        "What links say of a document: X times the logarithm of its rank over the average rank is added to "
        "its score; 0 to 100; 0.05 is a good choice. Of a store with link ranks.",
        shortest(request.search.prior),
        [&](const std::string& value) { request.search.prior = weight(value, true, 100); });
    line.option(
        "--expand", "N",
        "Each word outside of quotes is asked for with the N words most similar to it, as many as the "
        "thesaurus holds of each at most (20). Of a store with a thesaurus.",
        "0", [&](const std::string& value) {
            request.search.expand = static_cast<std::uint32_t>(parse_integer(value, 0, 1000));
        });
    line.option(
        "--expand-weight", "X",
        "What a similar word counts, times its similarity; above 0, to 1. A word of the query counts 1.",
        shortest(request.search.expand_weight),
        [&](const std::string& value) { request.search.expand_weight = weight(value, false, 1); });
    line.option("--like", "DOC",
                "Documents like the one of this id, by its vector, with a query or without; that one is left "
                "out. Of a store with document vectors.",
                "", [&](const std::string& value) { request.like = value; });
    line.option("--like-weight", "X",
                "What the cosine with --like's document counts in a score; above 0, to 100.",
                shortest(request.search.like_weight) + "; 1 without a query",
                [&](const std::string& value) { request.like_weight = weight(value, false, 100); });
    line.option(
        "--topics", "FILE",
        "Answer every query of FILE: lines of id, tab, text; or TREC topics, title field. "
        "Writes a TREC run. A GPU answers many topics at a time (--device), but for those with --prior, "
        "--expand, --like or --order.",
        "", [&](const std::string& value) { request.topics = value; });
    line.option("--run", "FILE", "Where the TREC run goes (topic Q0 id rank score quern).", "--output",
                [&](const std::string& value) { request.run_file = value; });
    line.section("Options for a corpus");
    declare_corpus(line, request.corpus);
    declare_text(line, request.text);
    declare_common(line, request.common);
    line.example("quern search wiki \"theory of relativity\"",
                 "The ten best documents of a store, as a table.");
    line.example("quern search wiki '\"general relativity\" black holes'",
                 "Only documents with these two words side by side.");
    line.example("quern search ~/notes garden -k 3 --format jsonl",
                 "A folder, indexed on the fly and remembered.");
    line.example("quern search wiki mill --expand 5 --prior 0.05 --explain",
                 "Similar words and links count, too, and what they add is shown.");
    line.example("quern search wiki --like Windmill", "The pages most like a page.");
    line.example("quern search wiki --topics topics.tsv --run bm25.run --k1 1.2 --b 0.75",
                 "A run for quern evaluate or trec_eval.");
}

/// The environment is read here, in the program, and nowhere in the library.
std::filesystem::path cache_folder() {
    const auto variable = [](const char* name) {
        const char* value = std::getenv(name);
        return std::filesystem::path(value == nullptr ? "" : value);
    };
    if (auto own = variable("QUERN_CACHE"); !own.empty()) return own;
    // The XDG specification asks to ignore a relative path.
    if (auto shared = variable("XDG_CACHE_HOME"); shared.is_absolute()) return shared / "quern";
    if (auto home = variable("HOME"); !home.empty()) return home / ".cache" / "quern";
    throw usage_error("no cache folder for the corpus's store: set QUERN_CACHE, or quern build it");
}

std::filesystem::path store_for(search_request& request, session& run) {
    if (is_store(request.path)) return request.path;
    request.corpus.inputs = {request.path};
    request.corpus.text = request.text.over({});
    auto store = run.stage("corpus", [&] { return cached_store(request.corpus, cache_folder(), run.run); });
    run.messages.finish();
    return store;
}

/// `; did you mean grain?`, or, where several words are unknown, for which one.
std::string suggestions_in(const search_answer& answer) {
    std::string text;
    for (const suggested_words& of : answer.suggestions) {
        text += text.empty() ? "; did you mean " : ", ";
        for (std::size_t i = 0; i < of.words.size(); ++i)
            text.append(i == 0 ? "" : i + 1 == of.words.size() ? " or " : ", ").append(of.words[i].word);
        if (answer.unknown_words.size() > 1) text.append(" for ").append(of.unknown);
    }
    return text.empty() ? text : text + "?";
}

/// What must be said of an answer beside its hits.
void tell(const search_answer& answer, std::string_view query, console& messages) {
    const std::string unknown =
        fmt::format("{}{}", fmt::join(answer.unknown_words, ", "), suggestions_in(answer));
    if (answer.empty_query && answer.hits.empty()) {
        messages.error(fmt::format("nothing found: '{}' holds no word", query));
    } else if (answer.hits.empty()) {
        messages.error(unknown.empty() ? fmt::format("nothing found for '{}'", query)
                                       : fmt::format("nothing found: no document holds {}", unknown));
    } else if (!unknown.empty()) {
        messages.info(fmt::format("no document holds {}", unknown));
    }
}

std::uint64_t answer_one(const search_engine& engine, const search_request& request, session& run,
                         output& to) {
    const std::string query = fmt::format("{}", fmt::join(request.words, " "));
    const auto answer = run.stage("search", [&] { return engine.search(query, request.search, run.run); });
    hit_rows rows(run, to, request.search.explain, engine.copies() != 0);
    rows.write(answer);
    rows.finish();
    tell(answer, query, run.messages);
    run.statistics.counts["queries"] = 1;
    return answer.hits.size();
}

/// Answers each line as it comes, so that a person or a program can hold a conversation. A line that is no
/// query (far too long) is said to be none, and the conversation goes on.
std::uint64_t answer_lines(const search_engine& engine, const search_request& request, session& run,
                           output& to) {
    constexpr std::size_t most_bytes = 1 << 20;
    const bool person = isatty(STDIN_FILENO) != 0 && isatty(STDERR_FILENO) != 0 && !request.common.quiet;
    engine.search("", request.search, run.run);  // options that are refused are so before the first line
    hit_rows rows(run, to, request.search.explain, engine.copies() != 0, "query");
    std::uint64_t hits = 0, number = 0, refused = 0;
    const auto answer_line = [&](const std::string& query, bool whole) {
        if (!whole) throw usage_error(fmt::format("a query may hold {} bytes at most", grouped(most_bytes)));
        const auto answer = engine.search(query, request.search, run.run);
        rows.write(answer, cell(number));
        rows.finish();
        to.flush();
        tell(answer, query, run.messages);
        hits += answer.hits.size();
    };
    run.stage("search", [&] {
        bool whole = true;
        for (std::string query;; ++number) {
            if (person) std::cerr << "query> " << std::flush;
            const bool there = next_line(query, most_bytes, whole);
            run.run.check_stop();
            if (!there) break;
            try {
                answer_line(query, whole);
            } catch (const usage_error& reason) {
                run.messages.warning(fmt::format("query {} is not answered: {}", number, reason.what()));
                ++refused;
            }
        }
    });
    if (person) std::cerr << '\n';
    run.statistics.counts["queries"] = number;
    if (refused != 0) run.statistics.counts["refused_queries"] = refused;
    return hits;
}

/// The lines of one topic; refuses documents that they would not tell apart.
void append_run(std::string& text, std::string_view topic, const search_answer& answer,
                const std::string& store) {
    std::vector<std::string_view> ids;
    for (const search_hit& hit : answer.hits) ids.push_back(hit.id);
    if (const auto alike = alike_in_run(ids)) {
        throw invalid_input(store, 0,
                            fmt::format("the documents '{}' and '{}' are written alike in a TREC run; "
                                        "--format tsv or jsonl keeps them apart",
                                        alike->first, alike->second));
    }
    constexpr std::size_t usual_line = 64;
    text.reserve(answer.hits.size() * usual_line);
    for (const search_hit& hit : answer.hits) append_run_line(text, topic, hit.id, hit.rank, hit.score);
}

bool writes_run(const search_request& request) {
    return !request.topics.empty() && (!request.run_file.empty() || !request.common.format);
}

std::uint64_t answer_topics(const search_engine& engine, search_request& request, session& run, output& to) {
    const auto topics = run.stage("topics", [&] { return read_topics(request.topics, run.run); });
    if (topics.empty()) run.messages.warning(fmt::format("{} holds no topics", request.topics));
    const bool as_run = writes_run(request);
    request.search.snippets = !as_run;
    request.search.copies = !as_run;
    hit_rows rows(run, to, request.search.explain, engine.copies() != 0, "topic");
    std::uint64_t hits = 0;
    const auto text = [&](const search_topic& topic, const search_answer& answer) {
        std::string lines;
        if (as_run) append_run(lines, topic.id, answer, request.path);
        return lines;
    };
    const auto take = [&](const search_topic& topic, const search_answer& answer, std::string_view lines) {
        hits += answer.hits.size();
        if (answer.hits.empty()) run.messages.warning(fmt::format("topic {}: nothing found", topic.id));
        if (as_run) {
            to.write(lines);
        } else {
            rows.write(answer, cell(std::string_view(topic.id)));
        }
    };
    run.pin_device(engine.choose_device(topics.size(), request.search, run.run));
    run.stage("search", [&] { engine.search_each(topics, request.search, run.run, text, take); });
    run.messages.finish();
    rows.finish();
    run.statistics.counts["queries"] = topics.size();
    return hits;
}

}  // namespace

int run_search(const command& self, const std::vector<std::string>& arguments) {
    search_request request;
    command_line line(self, "STORE|CORPUS [QUERY]... [OPTION]...",
                      "Ranks the documents that hold at least one word of the query and all that is in "
                      "double quotes: exact "
                      "scores, best first, equal scores in the order of the collection, any number of "
                      "results. Writes rank, id, "
                      "score, title and snippet; with --topics a TREC run, or, with --format, rows that "
                      "begin with the topic.");
    declare(line, request);
    line.parse(arguments);
    if (!request.run_file.empty() && request.topics.empty()) throw usage_error("--run needs --topics");
    if (!request.topics.empty() && !request.words.empty())
        throw usage_error("a query and --topics exclude each other");
    if (!request.run_file.empty() && !request.common.output.empty()) {
        throw usage_error("--run and --output name the same thing; give one of them");
    }

    if (request.search.explain && writes_run(request))
        throw usage_error(
            "a TREC run has no explanations; --explain with --topics needs --format and no --run");
    if (request.search.order > 1 && request.search.ranking.model != ranking_model::ql)
        throw usage_error("--order beyond 1 is for --model ql alone");

    session run(self, request.common);
    // What `auto` comes to depends on the topics; what is asked for must be there before the work.
    if (request.topics.empty()) {
        run.choose_device("search without --topics", offered_places::cpu_only);
    } else if (run.run.device.where != device_choice::kind::automatic) {
        run.choose_device("search of topics", offered_places::all);
    }
    request.search.k = request.k.value_or(request.topics.empty() ? 10 : 1000);
    request.search.ranking.title_weight =
        request.title_weight.value_or(request.topics.empty() ? title_weight_for_people : 0);
    request.search.phrases = request.phrases.value_or(request.topics.empty());
    request.search.suggestions = request.topics.empty() ? suggestions_for_people : 0;
    search({}, {}, request.search.ranking, 0);  // refuses parameters out of range, before the work
    const std::string destination = request.run_file.empty() ? request.common.output : request.run_file;
    // Refused before the work, not after it.
    output to = run.open_output(destination, {request.path, request.topics, request.text.stop_word_file()});

    const bool from_store = is_store(request.path);
    const auto engine = run.stage(
        "open", [&, store = store_for(request, run)] { return search_engine::open(store, run.run); });
    if (from_store && request.text.any()) request.search.text = request.text.over(engine.text());

    const bool like_alone = request.like && request.topics.empty() && request.words.empty();
    request.search.like_weight = request.like_weight.value_or(like_alone ? 1 : request.search.like_weight);
    if (request.like) {
        request.search.like = engine.find(*request.like);
        if (!request.search.like) {
            const auto near = engine.near_id(*request.like);
            throw usage_error(fmt::format("--like: {} has no document '{}'{}", request.path, *request.like,
                                          near ? fmt::format("; did you mean '{}'?", *near) : ""));
        }
    }

    const bool one = !request.words.empty() || request.like;
    const std::uint64_t hits = !request.topics.empty() ? answer_topics(engine, request, run, to)
                               : one                   ? answer_one(engine, request, run, to)
                                                       : answer_lines(engine, request, run, to);
    run.stage("write", [&] { to.commit(); });
    run.statistics.counts["documents"] = engine.documents();
    run.statistics.counts["hits"] = hits;
    run.write_statistics();
    return hits == 0 ? 1 : 0;
}

}  // namespace quern::cli
