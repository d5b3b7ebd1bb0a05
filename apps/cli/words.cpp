// SPDX-License-Identifier: Apache-2.0
// quern words
#include <fmt/format.h>

#include <optional>

#include "cluster.hpp"
#include "commands.hpp"
#include "quern/base/error.hpp"
#include "quern/tasks/similar.hpp"
#include "quern/tasks/words_option_table.hpp"
#include "quern/tasks/words_tasks.hpp"
#include "session.hpp"
#include "values.hpp"

namespace quern::cli {
namespace {

constexpr std::string_view preset_names[] = {"thesis"};

struct words_request {
    common_options common;
    words_options words;
    build_options corpus;  ///< --input-format, --max-errors
    text_choice text;
    cluster_options cluster;
    std::vector<std::string> inputs;
    std::string exported, report;
    std::string preset;
};

constexpr auto preset_option = option_for<&words_request::preset>(
    "preset", "NAME", preset_names,
    "thesis, the settings of Wang 2015: --discount 0 --measure lin --relation position --gaps keep "
    "--window-end sentence, unless given.");

void declare_counting(command_line& line, words_request& request) {
    space_params& q = request.words.params;
    line.section("Co-occurrences");
    line.option("window", q.counting);
    line.option("window_end", q);
    line.option("gaps", q);
    line.option("relation", q.counting);
    line.option("self", q.counting);
    line.option("min_count", q);
    line.option("vocabulary", q);
    line.section("Weights and similarity");
    line.option("discount", q.pmi);
    line.option("information", q.pmi);
    line.option("min_weight", q.pmi);
    line.option("columns", q);
    line.option("measure", q);
    line.option("top", q);
    line.option("method", request.words);
    line.option("blocks", request.words);
    line.option("block_threads", request.words);
    line.option("tile_bytes", request.words);
    line.option(preset_option, request);
    line.section("Vectors");
    line.option("vectors", q);
    line.option("lsa_of", q);
    line.option("lsa_words", q);
    line.option("lsa_measure", q);
}

void declare(command_line& line, words_request& request) {
    line.arguments(
        "CORPUS",
        "Files, folders and patterns, as for quern build, read in this order; - is standard input. "
        "Or one store, whose texts are read.",
        request.inputs, false);
    line.section("Output options");
    line.option(
        "-o,--output", "SPACE", "The folder to write. Replaces an existing one only with --force.", "",
        [&](const std::string& value) {
            if (value == "-")
                throw usage_error("a space cannot go to standard output (expected the name of a folder)");
            request.words.space = file_name(value);
        },
        true);
    line.option("--export", "FILE", "Also write rows of word, neighbour, score; - is standard output.", "",
                [&](const std::string& value) { request.exported = output_name(value); });
    line.option("--report", "FILE.html",
                "Write an HTML page: sizes, times, the most frequent words with their neighbours.", "",
                [&](const std::string& value) { request.report = file_name(value); });
    declare_counting(line, request);
    line.section("Corpus options");
    declare_corpus(line, request.corpus, corpus_forms::and_triples);
    declare_text(line, request.text);
    declare_common(line, request.common, {.rows = false, .output = false, .gpu = true, .seed = true});
    declare_cluster(line, request.cluster);
    line.example("quern words enwiki.xml.bz2 -o wiki.words --tokens letters --min-length 2 --stop-words en",
                 "A thesaurus of Wikipedia.");
    line.example("quern words essays/ -o essays.words --measure cosine --vectors 300 --report essays.html",
                 "Cosine instead of Lin's measure, with vectors and a report.");
    line.example("quern words parsed.tsv.gz --input-format triples -o parsed.words",
                 "From a parser's triples of word, relation and other word: Lin's original method.");
}

/// Sets the options of the preset, except those that are given.
void take_preset(const command_line& line, space_params& q) {
    if (!line.given("--discount")) q.pmi.discount = {0, 1};
    if (!line.given("--measure")) q.measure = word_measure::lin;
    if (!line.given("--relation")) q.counting.relation = word_relation::position;
    if (!line.given("--gaps")) q.gaps = gap_policy::keep;
    if (!line.given("--window-end")) q.window_end = window_limit::sentence;
}

/// Rejects options without effect.
void refuse_idle_options(command_line& line, const words_options& options) {
    const space_params& q = options.params;
    line.require_used("--blocks", options.method == similarity_method::compressed,
                      "requires --method compressed");
    for (const char* const option : {"--block-threads", "--tile-bytes"})
        line.require_used(option, options.method != similarity_method::automatic,
                          "requires --method compressed or column-reduced");
    const bool by_vectors = q.measure == word_measure::lsa, has_vectors = by_vectors || q.dimensions != 0;
    line.require_used("--lsa-of", has_vectors, "requires --measure lsa or --vectors");
    line.require_used("--lsa-words", has_vectors && q.lsa_of == reduced_matrix::documents,
                      "requires --lsa-of documents");
    line.require_used("--lsa-measure", by_vectors, "requires --measure lsa");
}

std::string outcome_of(const words_result& result, bool of_triples) {
    std::string text = result.counts.documents == 0
                           ? std::string()
                           : counted(result.counts.documents, of_triples ? "triple" : "document") + ", ";
    text +=
        fmt::format("{}, {} distinct, {} in the vocabulary; {}, {} kept as contexts",
                    counted(result.occurrences, "word"), grouped(result.distinct), grouped(result.vocabulary),
                    counted(result.cooccurrences, "co-occurrence"), grouped(result.entries));
    if (result.dimensions != 0) text += fmt::format("; vectors of {} dimensions", result.dimensions);
    return text;
}

}  // namespace

int run_words(const command& self, const std::vector<std::string>& arguments) {
    words_request request;
    command_line line(self, "CORPUS... -o SPACE [OPTION]...",
                      "Finds words that are used alike: counts which words co-occur within a window, weights "
                      "each co-occurrence by its pointwise mutual information, and compares the weight "
                      "vectors of all pairs of words (Lin 1998; Kolb 2008). Writes a word space: words, "
                      "their neighbours and contexts, for quern similar and quern contexts. The same corpus "
                      "and options give the same bytes for any number of threads, any memory budget and any "
                      "device. The space appears complete or not at all; an earlier one stays until then.");
    declare(line, request);
    line.parse(arguments);

    session job(self, request.common);
    job.follow_links = request.corpus.follow_links;
    words_options& options = request.words;
    options.inputs = inputs_of(request.inputs, request.corpus);
    take_reading_rules(request.corpus, options);
    options.text = request.text.over({});
    space_params& q = options.params;
    if (!request.preset.empty()) take_preset(line, q);
    q.full_matrix = q.top == top_of_all_pairs;
    if (q.full_matrix) q.top = space_params{}.top;
    q.seed = request.common.seed;
    refuse_idle_options(line, options);
    options.force = request.common.force;
    if (request.cluster.is_task())
        return run_step_of_task(request.cluster, job, [&](const task_file& task, task_results& results) {
            run_words_task(options, task, results, job.ctx);
        });
    std::vector<std::filesystem::path> files = options.inputs;
    files.push_back(request.text.stop_word_file());
    if (!request.exported.empty() && options.params.top == 0) {
        throw usage_error("--export cannot be combined with --top 0, which stores no neighbours");
    }
    const destination rows_file{request.exported}, page = report_page(request.report);
    job.check_destinations({{.path = options.space, .is_folder = true}, rows_file, page}, std::move(files));
    if (request.cluster.is_used()) {
        const auto plan = [&](unsigned shards) { return plan_words(options, shards, job.ctx); };
        if (!distribute(self, line, request.cluster, job, plan)) return 0;
    }
    const auto open = [&](const destination& to) {
        return to.path.empty() ? std::optional<output>() : job.open(to);
    };
    auto exported = open(rows_file), report = open(page);

    words_result result = request.cluster.is_used() ? words_of_job(options, request.cluster.share, job.ctx)
                                                    : words(options, job.ctx);
    job.messages.finish();
    if (exported) {
        job.stage("export", [&] {
            const word_space space = word_space::open(options.space, job.ctx);
            space.write_graph_tsv([&](std::string_view bytes) { exported->write(bytes); }, job.ctx);
        });
    }
    if (report) {
        write_word_report(
            options.space, result, [&](std::string_view bytes) { report->write(bytes); }, job.ctx);
    }
    output* const all[] = {exported ? &*exported : nullptr, report ? &*report : nullptr};
    output::commit_together(all);
    report_reading(job.messages, result.counts, result.issues,
                   outcome_of(result, options.input_format == "triples"));
    auto stages = std::move(result.statistics.stages);
    stages.insert(stages.end(), job.statistics.stages.begin(), job.statistics.stages.end());
    job.statistics = std::move(result.statistics);
    job.statistics.stages = std::move(stages);
    job.write_statistics();
    return 0;
}

}  // namespace quern::cli
