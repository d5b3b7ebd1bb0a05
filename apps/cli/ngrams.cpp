// SPDX-License-Identifier: Apache-2.0
// quern ngrams
#include <fmt/format.h>

#include <optional>
#include <utility>

#include "cluster.hpp"
#include "commands.hpp"
#include "quern/base/error.hpp"
#include "quern/tasks/dictionary.hpp"
#include "quern/tasks/ngrams_option_table.hpp"
#include "quern/tasks/ngrams_tasks.hpp"
#include "session.hpp"
#include "values.hpp"

namespace quern::cli {
namespace {

struct request {
    common_options common;
    build_options corpus;
    text_choice text;
    cluster_options cluster;
    std::vector<std::string> inputs;
    ngrams_options requested;
};

void declare_ngrams(command_line& line, ngram_options& ngrams) {
    line.option("order", ngrams);
    line.option("only", ngrams);
    line.option("min_count", ngrams);
    line.option("counts", ngrams);
    line.option("method", ngrams);
    line.option("measure", ngrams);
    line.option("smoothing", ngrams);
    line.option("lambda", ngrams);
    line.option("mu", ngrams);
    line.option("delta", ngrams);
    line.option("k1", ngrams);
    line.option("b", ngrams);
}

void declare(command_line& line, request& request) {
    line.arguments("CORPUS", "Files, folders and patterns, as for quern build; - is standard input.",
                   request.inputs, false);
    line.section("N-gram options");
    declare_ngrams(line, request.requested.ngrams);
    line.option("--dictionary", "FILE",
                "The known words, as written by quern dictionary, with its text options; every other word "
                "becomes <unk>.",
                "every word of the corpus",
                [&](const std::string& value) { request.requested.dictionary = file_name(value); });
    line.section("Of the whole collection (also writes rows only with --output; - is standard output)");
    line.option("--totals", "FILE", "Counts: words, tab, count; sorted by n, then by words.", "",
                [&](const std::string& value) { request.requested.totals = output_name(value); });
    line.option("--arpa", "FILE", "A back-off language model in the ARPA format, smoothed by --smoothing.",
                "", [&](const std::string& value) { request.requested.arpa = output_name(value); });
    line.option("sentences", request.requested);
    line.option("prune", request.requested);
    line.option("limit_vocabulary", request.requested);
    line.section("Corpus options");
    declare_corpus(line, request.corpus);
    line.option("titles", request.requested);
    line.option("tokenized", request.requested);
    declare_text(line, request.text);
    declare_common(line, request.common, {.gpu = true});
    declare_cluster(line, request.cluster);
    line.example("quern ngrams notes --order 2 --counts",
                 "All words and pairs of each document, with all their counts.");
    line.example("quern ngrams enwiki.xml.bz2 --order 1 --measure bm25 -o weights.tsv",
                 "The BM25 weight of every word in every document.");
    line.example("quern ngrams enwiki.xml.bz2 --order 3 --smoothing absolute --arpa enwiki.arpa",
                 "A language model for KenLM, SRILM and others.");
    line.example(
        "quern ngrams text.txt --tokenized --sentences --order 5 --smoothing kneser-ney --prune '0 0 1' "
        "--arpa text.arpa",
        "The model that KenLM's lmplz makes from sentences, one on each line.");
}

/// The given text options; with a dictionary, they override its options.
std::optional<text_options> text_requested(const request& request) {
    if (!request.text.any()) return {};
    if (request.requested.dictionary.empty()) return request.text.over({});
    const dictionary_info info = read_dictionary_info(request.requested.dictionary);
    return request.text.over(info.verbatim ? text_options{} : info.text);
}

std::string outcome_of(const ngrams_result& result, bool with_rows) {
    std::string summary = fmt::format("{}, {}, {} distinct", counted(result.documents, "document"),
                                      counted(result.words, "word"), grouped(result.distinct));
    if (result.unknown != 0) {
        summary += fmt::format(", {} unknown ({:.2f}%)", grouped(result.unknown),
                               100 * static_cast<double>(result.unknown) / static_cast<double>(result.words));
    }
    std::uint64_t distinct = 0, rows = 0;
    for (const ngram_totals& of_n : result.totals) {
        distinct += of_n.distinct;
        rows += of_n.rows;
    }
    summary += "; " + counted(distinct, "n-gram");
    if (with_rows) summary += ", " + counted(rows, "row");
    return summary;
}

/// Refuses options that would have no effect.
void refuse_idle_options(command_line& line, const ngrams_options& requested) {
    const bool bm25 = requested.ngrams.measure == ngram_measure::bm25,
               smooths = !bm25 || !requested.arpa.empty();
    for (const char* name : {"--k1", "--b"}) line.require_used(name, bm25, "requires --measure bm25");
    line.require_used("--smoothing", smooths, "requires --measure likelihood or --arpa");
    const auto smoothing = [&](const char* name, ngram_smoothing of, const char* reason) {
        line.require_used(name, smooths && requested.ngrams.smoothing == of, reason);
    };
    smoothing("--lambda", ngram_smoothing::jelinek_mercer, "requires --smoothing jm");
    smoothing("--mu", ngram_smoothing::dirichlet, "requires --smoothing dirichlet");
    smoothing("--delta", ngram_smoothing::absolute, "requires --smoothing absolute");
    for (const char* name : {"--prune", "--limit-vocabulary"})
        smoothing(name, ngram_smoothing::kneser_ney, "requires --smoothing kneser-ney");
}

}  // namespace

int run_ngrams(const command& self, const std::vector<std::string>& arguments) {
    request request;
    command_line line(self, "CORPUS... [OPTION]...",
                      "Writes every n-gram of every document: document, n, words, its counts in the document "
                      "and in the collection, and the likelihood that the document generates its last word "
                      "after the others. Sorted by document, then n, then words. The rows are the same for "
                      "any number of threads, any memory budget and any method.");
    declare(line, request);
    line.parse(arguments);
    if (request.requested.tokenized && request.text.any())
        throw usage_error("--tokenized takes the words as they are; it cannot be combined with text options");
    refuse_idle_options(line, request.requested);

    session job(self, request.common);
    job.follow_links = request.corpus.follow_links;
    ngrams_options& requested = request.requested;
    requested.inputs = inputs_of(request.inputs, request.corpus);
    take_reading_rules(request.corpus, requested);
    requested.text = text_requested(request);
    requested.replace = request.common.force;
    if (request.cluster.is_task())
        return run_step_of_task(request.cluster, job, [&](const task_file& task, task_results& results) {
            run_ngrams_task(requested, task, results, job.ctx);
        });
    std::vector<std::filesystem::path> files = requested.inputs;
    files.insert(files.end(),
                 {requested.dictionary, requested.limit_vocabulary, request.text.stop_word_file()});
    const destination totals_file{requested.totals},
        model_file{.path = requested.arpa, .form = ".arpa", .written = "a model in the ARPA format"};
    job.check_destinations({{request.common.output}, totals_file, model_file}, files);
    const bool files_only =
        request.common.output.empty() && (!requested.totals.empty() || !requested.arpa.empty());
    if (request.cluster.is_used()) {
        if (!files_only)
            throw usage_error(
                "the rows of documents are not distributed (expected --totals or --arpa, without --output)");
        const auto plan = [&](unsigned shards) { return plan_ngrams(requested, shards, job.ctx); };
        if (!distribute(self, line, request.cluster, job, plan)) return 0;
        requested.counts_of_job = request.cluster.share;
    }

    // Opened here and not by the task, so that they and the rows appear together.
    std::optional<output> rows_to, totals, model;
    const auto take_by = [&](const destination& file, std::optional<output>& to,
                             std::function<void(std::string_view)>& sink) {
        if (file.path.empty()) return;
        to.emplace(job.open(file));
        sink = [&to](std::string_view text) { to->write(text); };
    };
    take_by(totals_file, totals, requested.take_totals);
    take_by(model_file, model, requested.take_arpa);

    ngrams_result result;
    if (files_only) {
        result = ngrams(requested, job.ctx, {});
    } else {
        output& to = rows_to.emplace(job.open_output(request.common.output, files));
        const row_format format = job.format_for(to);
        if (format == row_format::table) {
            auto rows = job.rows(to, ngram_columns(requested.ngrams));
            std::vector<cell> cells;
            result = ngrams(requested, job.ctx, [&](const ngram_row& row) {
                cells = {row.document,      std::uint64_t{row.n},
                         row.words,         std::uint64_t{row.in_document},
                         row.in_collection, row.weight};
                if (requested.ngrams.history_counts) {
                    cells.emplace_back(std::uint64_t{row.history_in_document});
                    cells.emplace_back(row.history_in_collection);
                }
                rows.row(cells);
            });
            job.messages.finish();
            rows.finish();
        } else {
            result =
                ngrams_as_text(requested, format, job.ctx, [&](std::string_view text) { to.write(text); });
        }
    }
    const auto given = [](std::optional<output>& to) { return to ? &*to : nullptr; };
    output* const all[] = {given(rows_to), given(totals), given(model)};
    output::commit_together(all);
    job.messages.finish();
    report_reading(job.messages, result.counts, result.issues, outcome_of(result, !files_only));
    job.statistics = std::move(result.statistics);
    job.write_statistics();
    return 0;
}

}  // namespace quern::cli
