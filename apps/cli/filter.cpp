// SPDX-License-Identifier: Apache-2.0
// quern filter
#include "quern/tasks/filter.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "cluster.hpp"
#include "commands.hpp"
#include "kept_file.hpp"
#include "quern/base/error.hpp"
#include "quern/tasks/filter_option_table.hpp"
#include "quern/tasks/filter_tasks.hpp"
#include "session.hpp"
#include "values.hpp"

namespace quern::cli {
namespace {

struct filter_request {
    common_options common;
    filter_options options;
    build_options corpus;  ///< --input-format, --max-errors
    cluster_options cluster;
    std::vector<std::string> inputs, rules;
    std::string rules_file, removed, kept, report;  ///< `kept` ends with a slash if it is a folder
    bool list_rules = false;
};

constexpr std::string_view mask_names[] = {"emails", "ips"};

void parse_mask(const std::string& list, filter_options& options) {
    enum class mask { emails, ips };
    for (const std::string& name : parse_list(list))
        (parse_name<mask>(name, mask_names) == mask::emails ? options.mask_emails : options.mask_ips) = true;
}

void describe_rules(command_line& line, filter_request& request) {
    line.section("Rules");
    line.options(
        "--rules", "NAME,...",
        "Apply these rules, in this order: groups such as gopher-quality, with their defaults, and rules "
        "such "
        "as fineweb.max-short-lines or length.min-words=20; c4.javascript=off leaves out a rule of a group. "
        "Repeatable.",
        [&](const std::string& value) { request.rules.push_back(value); });
    line.option("--rules-file", "FILE",
                "A file of rules with their limits, in TOML; --rules adds to them and changes them.", "",
                [&](const std::string& value) { request.rules_file = file_name(value); });
    line.flag("--list-rules", "Write rows of rule, kind, default, measure, source, and read no corpus.",
              request.list_rules);
    line.option("words", request.options);
    std::vector<std::string> groups;
    for (const quality_group& group : quality_groups()) groups.emplace_back(group.name);
    line.offer("--rules", groups);
    line.hint("--min-words", "for a limit use --rules length.min-words=N");
    line.hint("--max-words", "for a limit use --rules length.max-words=N");
    line.section("Languages and masks");
    line.option("--language", "CODE,...",
                "Before the rules, remove documents that are not mainly in one of these languages (ISO 639: "
                "en, de, zh).",
                "", [&](const std::string& value) {
                    for (const std::string& code : parse_list(value))
                        request.options.languages.push_back(detectable_language(code));
                });
    line.option("language_score", request.options);
    line.option("--mask", "NAME,...",
                "In the kept documents, replace e-mail addresses (emails) and public IPv4 addresses (ips) by "
                "harmless "
                "ones.",
                "", [&](const std::string& value) { parse_mask(value, request.options); });
    line.section("Perplexity");
    line.option("perplexity", request.options);
    line.option("below", request.options);
    line.option("above", request.options);
    line.option("below_percentile", request.options);
    line.option("above_percentile", request.options);
    line.option(
        "--reference", "CORPUS",
        "With --below-percentile and --above-percentile: the corpus whose values give the percentiles; may "
        "be given more than once.",
        "", [&](const std::string& value) { request.options.reference.push_back(file_name(value)); });
    line.option("perplexity_measure", request.options);
    line.option("model_words", request.options);
    line.offer("--language", detectable_languages());
    line.offer("--mask", mask_names);
}

void describe(command_line& line, filter_request& request) {
    line.arguments("CORPUS",
                   "Files, folders and patterns, as for quern build, read in this order; - is standard input "
                   "(JSON lines).",
                   request.inputs, false);
    describe_rules(line, request);
    line.section("Output options");
    line.option(
        "-o,--output", "FILE|DIR/",
        "The kept documents, in their order: lines of JSON lines and TSV byte for byte, except texts that a "
        "rule or a mask changes; other forms become JSON lines; for a name ending in .parquet, rows of "
        "Parquet files with all columns. - is standard output, for this option and the next. DIR/, with a "
        "slash: a new folder with one file for each file of the corpus, under the same name and in the same "
        "form.",
        "", [&](const std::string& value) { request.kept = output_name(value); });
    line.flag(
        "--resume",
        "With -o DIR/: continue a run of the same command that was killed or interrupted, if there is one, "
        "and keep what is finished if this one is. The result is the same.",
        request.options.resume);
    line.option(
        "--removed", "FILE",
        "Rows of id, rule, value, limit: each removed document with the first rule that it does not pass.",
        "standard output if --output is not given",
        [&](const std::string& value) { request.removed = output_name(value); });
    line.option("--report", "FILE.html",
                "Write an HTML page: counts by rule, and examples of what each rule removed.", "",
                [&](const std::string& value) { request.report = file_name(value); });
    line.option("sample_removed", request.options);
    declare_common(line, request.common, {.output = false, .gpu = true});
    declare_corpus(line, request.corpus);
    declare_cluster(line, request.cluster);
    line.example(
        "quern filter crawl.jsonl.zst --rules gopher-repetition,gopher-quality,c4,fineweb -o clean.jsonl.zst",
        "The rules of FineWeb.");
    line.example(
        "quern filter crawl/ --language de --rules length.min-words=50 --removed removed.tsv -o german/",
        "German documents of 50 words or more, one output for each input.");
    line.example("quern filter crawl.jsonl --perplexity wiki.arpa --below 800 -o clean.jsonl",
                 "Documents that a model of good text predicts well.");
    line.example("quern filter forum.jsonl --mask emails,ips -o masked.jsonl",
                 "Every document, without addresses.");
}

void write_rules(const session& job, output& to) {
    auto rows = job.rows(to, {"rule", "kind", "default", "measure", "source"});
    for (const quality_group& group : quality_groups()) {
        for (const quality_rule& rule : quality_rules().subspan(group.first, group.end - group.first)) {
            const std::string name = full_name(rule);
            std::string value = rule.limit ? to_text(*rule.limit) : rule.has_default ? "on" : "off";
            if (rule.kind == rule_kind::words && rule.has_default) value = "English";
            rows.row({name, name_of(rule.kind), std::string_view(value), rule.help, group.source});
        }
    }
    rows.finish();
    to.commit();
}

void read_rules_of(filter_request& request) {
    if (!request.rules_file.empty()) request.options.rules = read_rules(request.rules_file);
    for (const std::string& list : request.rules) {
        try {
            request.options.rules.add(list);
        } catch (const usage_error& failure) {
            throw usage_error(fmt::format("--rules: {}", failure.what()));
        }
    }
}

std::string outcome_of(const filter_result& result, const filter_options& options) {
    const filter_counts& found = result.found;
    std::string outcome =
        fmt::format("{}, {} removed", counted(found.documents, "document"), grouped(found.removed));
    std::string rules;
    for (const removed_by_rule& rule : result.removed_by())
        if (rule.documents != 0)
            rules += fmt::format("{}{} {}", rules.empty() ? "" : ", ", rule.rule, grouped(rule.documents));
    if (!rules.empty()) outcome += " (" + rules + ")";
    if (found.changed != 0) outcome += fmt::format("; {} changed", grouped(found.changed));
    if (options.mask_emails) outcome += fmt::format("; {} e-mail addresses masked", grouped(found.emails));
    if (options.mask_ips) outcome += fmt::format("; {} IP addresses masked", grouped(found.ips));
    return outcome;
}

}  // namespace

int run_filter(const command& self, const std::vector<std::string>& arguments) {
    filter_request request;
    filter_options& options = request.options;
    command_line line(self, "CORPUS... [OPTION]...",
                      "Writes the documents of a corpus that pass quality rules: lengths, repetition, the "
                      "rules of Gopher, C4 and "
                      "FineWeb, languages. The limits are compared in integers, and the results are the same "
                      "for any number of "
                      "threads and any memory budget.\n\nNothing removed is a normal result: exit code 0.");
    describe(line, request);
    line.parse(arguments);
    session job(self, request.common);
    if (request.list_rules) {
        output to = job.open_output("-", {});
        write_rules(job, to);
        return 0;
    }
    options.inputs = inputs_of(request.inputs, request.corpus);
    if (std::ranges::count(options.inputs, "-") > 1)
        throw usage_error("standard input (-) can be given only once");
    read_rules_of(request);
    if (options.rules.empty() && options.languages.empty() && options.perplexity.empty() &&
        !options.mask_emails && !options.mask_ips)
        throw usage_error(
            "there is nothing to do (expected --rules, --rules-file, --language, --perplexity or --mask)");
    for (const char* const name : {"--below", "--above", "--below-percentile", "--above-percentile",
                                   "--reference", "--perplexity-measure", "--model-words", "--gpu-memory"})
        line.require_used(name, !options.perplexity.empty(), "requires --perplexity");
    line.require_used("--gpu-memory", !request.cluster.is_used(), "cannot be combined with --cluster");
    const bool has_percentile = options.below_percentile || options.above_percentile;
    if (has_percentile && (options.below || options.above))
        throw usage_error("--below and --above cannot be combined with percentiles");
    line.require_used("--reference", has_percentile, "requires --below-percentile or --above-percentile");
    if (has_percentile && options.reference.empty()) throw usage_error("percentiles need --reference CORPUS");
    if (!options.perplexity.empty() && !options.below && !options.above && !has_percentile)
        throw usage_error(
            "--perplexity needs a limit (expected --below X, --above X or both, or percentiles with "
            "--reference)");
    line.require_used("--language-score", !options.languages.empty(), "requires --language");
    line.require_used("--resume", request.kept.ends_with('/'), "requires --output DIR/, with a slash");
    line.require_used("--sample-removed", !request.report.empty(), "requires --report");
    if (request.removed.empty() && request.kept.empty()) request.removed = "-";

    job.follow_links = request.corpus.follow_links;
    take_reading_rules(request.corpus, options);
    if (request.cluster.is_task())
        return run_step_of_task(request.cluster, job, [&](const task_file& task, task_results& results) {
            run_filter_task(options, task, results, job.ctx);
        });
    const bool to_folder = request.kept.ends_with('/');
    std::vector<std::filesystem::path> files = options.inputs;
    if (!request.rules_file.empty()) files.emplace_back(request.rules_file);
    for (const chosen_group& group : options.rules.groups())
        for (const chosen_rule& rule : group.rules)
            if (rule.is_on && !rule.list.empty()) files.emplace_back(rule.list);
    if (!options.perplexity.empty()) files.push_back(options.perplexity);
    files.insert(files.end(), options.reference.begin(), options.reference.end());
    if (to_folder) {
        files.push_back(harmless_folder(request.kept, files));
        options.kept_folder = request.kept;
    }
    if (is_complete_already(options, job)) return 0;
    job.check_destinations({file_of_documents(request.kept), {request.removed}, report_page(request.report)},
                           files);
    if (request.cluster.is_used()) {
        const auto plan = [&](unsigned shards) { return plan_filter(options, shards, job.ctx); };
        if (!distribute(self, line, request.cluster, job, plan)) return 0;
        options.verdicts = request.cluster.share;
    }
    auto kept = open_if(file_of_documents(request.kept), job), removed = open_if({request.removed}, job),
         report = open_if(report_page(request.report), job);
    options.keep_rows = holds_rows(file_of_documents(request.kept));
    if (kept) options.kept = [&](std::string_view bytes) { kept->write(bytes); };
    options.keep_examples = report.has_value();
    std::optional<row_writer> rows;
    if (removed) rows.emplace(job.rows(*removed, {"id", "rule", "value", "limit"}));
    options.decided = [&](const filter_decision& d) {
        if (rows && !d.is_kept) rows->row({d.id, d.rule, d.value, d.limit});
    };

    const auto commit = [&] {
        if (rows) rows->finish();
        commit_given({&kept, &removed, &report});
    };
    // The folder appears last: once it is there, so is everything else.
    const bool comes_first = to_folder && !report;
    if (comes_first) options.before_folder = commit;
    filter_result result = run_resumable(options, job, [&] { return filter(options, job.ctx); });
    job.statistics = std::move(result.statistics);
    if (!comes_first) {
        job.stage("write", [&] {
            if (report) result.write_report([&](std::string_view bytes) { report->write(bytes); });
            commit();
        });
    }
    job.messages.finish();
    report_reading(job.messages, result.counts, result.issues, outcome_of(result, options));
    job.write_statistics();
    return 0;
}

}  // namespace quern::cli
