// SPDX-License-Identifier: Apache-2.0
// quern decontaminate
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>

#include "cluster.hpp"
#include "commands.hpp"
#include "kept_file.hpp"
#include "quern/base/error.hpp"
#include "quern/ops/contamination_option_table.hpp"
#include "quern/tasks/decontaminate.hpp"
#include "quern/tasks/decontaminate_tasks.hpp"
#include "quern/tasks/input_names.hpp"
#include "session.hpp"
#include "values.hpp"

namespace quern::cli {
namespace {

struct decontaminate_request {
    common_options common;
    decontaminate_options options;
    build_options corpus;  ///< --input-format, --max-errors
    document_fields item_fields;
    text_choice text;
    cluster_options cluster;
    std::vector<std::string> inputs;
    std::string matches, kept, report;  ///< `kept` ends with a slash if it is a folder
};

void describe(command_line& line, decontaminate_request& request) {
    line.arguments("TRAIN",
                   "Training data: files, folders and patterns, as for quern build, read in this order; - is "
                   "standard input.",
                   request.inputs, false);
    line.section("Evaluation data");
    line.options(
        "--against", "EVAL",
        "An evaluation set: a file or a folder of any form that TRAIN may have. Each of its documents is an "
        "item. Repeatable; at least one is required.",
        [&](const std::string& value) { request.options.against.inputs.emplace_back(file_name(value)); });
    line.option("--against-id-field", "NAME", "As --id-field, for the evaluation sets.", "that of --id-field",
                [&](const std::string& value) { request.item_fields.id = value; });
    line.option("--against-text-field", "NAME,...", "As --text-field, for the evaluation sets.",
                "those of --text-field",
                [&](const std::string& value) { request.item_fields.text = parse_field_list(value); });
    line.option("--against-title-field", "NAME", "As --title-field, for the evaluation sets.",
                "that of --title-field",
                [&](const std::string& value) { request.item_fields.title = value; });
    line.option("ngram", request.options.contamination);
    line.option("overlap", request.options.contamination);
    line.hint("--threshold", "for the least share of an item's n-grams use --overlap 0.5");
    line.hint("--n", "for n-grams of N words use --ngram N");
    line.section("Output options");
    line.option(
        "-o,--output", "FILE|DIR/",
        "The training documents that are not contaminated, in their order: lines of JSON lines and TSV byte "
        "for byte, others as JSON lines; for a name ending in .parquet, rows of Parquet files with all "
        "columns. - is standard output, for this option and --matches. DIR/, with a slash: a new folder with "
        "one file for each file of the training data, under the same name and in the same form.",
        "", [&](const std::string& value) { request.kept = output_name(value); });
    line.flag(
        "--resume",
        "With -o DIR/: continue a run of the same command that was killed or interrupted, if there is one, "
        "and keep what is finished if this one is. The result is the same.",
        request.options.resume);
    line.option(
        "--matches", "FILE",
        "Rows of eval_id, train_id, share, place: every item and training document that contains at least "
        "--overlap of it, by item, then by document. place: bytes BEGIN-END of the document's text, from the "
        "first n-gram found to the last.",
        "standard output if --output is not given",
        [&](const std::string& value) { request.matches = output_name(value); });
    line.option(
        "--report", "FILE.html",
        "Write an HTML page: counts, what leaked of each evaluation set, the largest leaks with the texts "
        "side by side.",
        "", [&](const std::string& value) { request.report = file_name(value); });
    declare_common(line, request.common, {.output = false});
    declare_corpus(line, request.corpus);
    declare_text(line, request.text);
    declare_cluster(line, request.cluster);
    line.example(
        "quern decontaminate train.jsonl.zst --against gsm8k.jsonl --against mmlu.jsonl -o clean.jsonl.zst",
        "Training data without documents that contain half of a test question or more.");
    line.example(
        "quern decontaminate 'shards/*.parquet' --against tests/ -o clean/ --matches leaks.tsv --resume",
        "One output for each shard, with all columns; a run that was killed is continued.");
    line.example(
        "quern decontaminate crawl/ --against test.jsonl --overlap 0.8 --matches leaks.tsv --report "
        "leaks.html",
        "Which questions are where, and a page about them.");
}

/// Standard input can be read once.
void refuse_repeated_input(const decontaminate_request& request) {
    if (std::ranges::count(request.inputs, "-") + std::ranges::count(request.options.against.inputs, "-") > 1)
        throw usage_error("standard input (-) can be given only once");
}

/// The fields of evaluation sets: those of the training data, unless others are named.
document_fields fields_of_items(const document_fields& training, const document_fields& given) {
    document_fields fields = training;
    if (!given.id.empty()) fields.id = given.id;
    if (!given.text.empty()) fields.text = given.text;
    if (!given.title.empty()) fields.title = given.title;
    return fields;
}

void write_matches(const decontaminate_result& result, const session& job, output& to) {
    constexpr std::uint64_t rows_at_once = 65536;  // between two checks of the progress and the stop flag
    auto rows = job.rows(to, {"eval_id", "train_id", "share", "place"});
    std::uint64_t done = 0;
    for (const contamination& m : result.matches()) {
        if (done++ % rows_at_once == 0) {
            job.ctx.check_stop();
            job.ctx.report({"write matches", done, result.matches().size(), "matches"});
        }
        rows.row({result.item(m.item).id, result.contaminated(m.document).id, m.share(),
                  fmt::format("{}-{}", m.begin, m.end)});
    }
    rows.finish();
}

std::string outcome_of(const decontaminate_result& result, unsigned ngram) {
    const contamination_counts& found = result.found;
    std::string outcome = fmt::format("{} ({}", counted(found.items, "item"),
                                      in_bytes(static_cast<double>(found.evaluation_bytes)));
    if (found.short_items != 0)
        outcome += fmt::format("; {} shorter than {} words", grouped(found.short_items), ngram);
    if (found.empty_items != 0) outcome += fmt::format("; {} without words", grouped(found.empty_items));
    return outcome + fmt::format("), {} found; {}, {} contaminated; {}", grouped(found.found_items),
                                 counted(found.documents, "document"), grouped(found.contaminated),
                                 result.matches().size() == 1
                                     ? "1 match"
                                     : grouped(result.matches().size()) + " matches");
}

int find_and_write(decontaminate_request& request, session& job) {
    decontaminate_options& options = request.options;
    auto kept = open_if(file_of_documents(request.kept), job), matches = open_if({request.matches}, job),
         report = open_if(report_page(request.report), job);
    options.keep_rows = holds_rows(file_of_documents(request.kept));
    if (kept) options.kept = [&](std::string_view bytes) { kept->write(bytes); };
    options.keep_examples = report.has_value();

    decontaminate_result result = decontaminate(options, job.ctx);
    job.statistics = std::move(result.statistics);
    job.stage("write", [&] {
        if (matches) write_matches(result, job, *matches);
        if (report) result.write_report([&](std::string_view bytes) { report->write(bytes); });
        const auto commit = [&] { commit_given({&kept, &matches, &report}); };
        // The folder appears last: once it is there, so is everything else.
        if (!options.kept_folder.empty()) {
            result.write_kept_folder(job.ctx, commit);
        } else {
            commit();
        }
    });
    job.messages.finish();
    reading_counts counts = result.counts;
    counts += result.against_counts;
    report_reading(job.messages, counts, result.issues, outcome_of(result, options.contamination.ngram));
    job.write_statistics();
    return 0;
}

}  // namespace

int run_decontaminate(const command& self, const std::vector<std::string>& arguments) {
    decontaminate_request request;
    decontaminate_options& options = request.options;
    command_line line(
        self, "TRAIN... --against EVAL [OPTION]...",
        "Finds the training documents that contain items of evaluation sets, and writes the others. A "
        "document is contaminated if at least --overlap of the word n-grams of an item occur in it, "
        "wherever they are in the document. The search is exact, and the results are the same for any "
        "number of threads and any memory budget.\n\nFinding no contamination is a normal result: exit "
        "code 0.");
    describe(line, request);
    line.parse(arguments);
    if (options.against.inputs.empty())
        throw usage_error("--against is required (expected an evaluation set, such as --against test.jsonl)");
    refuse_repeated_input(request);
    options.inputs = inputs_of(request.inputs, request.corpus, "TRAIN");
    options.against.inputs = expand_inputs(options.against.inputs);
    line.require_used("--resume", request.kept.ends_with('/'), "requires --output DIR/, with a slash");
    if (request.matches.empty() && request.kept.empty()) request.matches = "-";

    session job(self, request.common);
    job.follow_links = request.corpus.follow_links;
    options.text = request.text.over({});
    take_reading_rules(request.corpus, options);
    take_reading_rules(request.corpus, options.against);
    options.against.fields = fields_of_items(request.corpus.fields, request.item_fields);
    if (request.cluster.is_task())
        return run_step_of_task(request.cluster, job, [&](const task_file& task, task_results& results) {
            run_decontaminate_task(options, task, results, job.ctx);
        });
    std::vector<std::filesystem::path> files = options.inputs;
    files.insert(files.end(), options.against.inputs.begin(), options.against.inputs.end());
    files.push_back(request.text.stop_word_file());
    if (request.kept.ends_with('/')) {
        files.push_back(harmless_folder(request.kept, files));
        options.kept_folder = request.kept;
    }
    if (is_complete_already(options, job)) return 0;
    job.check_destinations({file_of_documents(request.kept), {request.matches}, report_page(request.report)},
                           std::move(files));
    if (request.cluster.is_used()) {
        const auto plan = [&](unsigned shards) { return plan_decontaminate(options, shards, job.ctx); };
        if (!distribute(self, line, request.cluster, job, plan)) return 0;
        options.matches_of_job = request.cluster.share;
    }
    return run_resumable(options, job, [&] { return find_and_write(request, job); });
}

}  // namespace quern::cli
