// SPDX-License-Identifier: Apache-2.0
// quern dedup
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "commands.hpp"
#include "dedup_request.hpp"
#include "kept_file.hpp"
#include "quern/base/error.hpp"
#include "quern/tasks/dedup_option_table.hpp"
#include "quern/tasks/dedup_tasks.hpp"
#include "quern/tasks/input_names.hpp"
#include "session.hpp"
#include "values.hpp"

namespace quern::cli {
namespace {

constexpr const char* jaccard_method =
    "for pairs by Jaccard similarity use --method shingle --similarity 0.8: exact, whereas MinHash estimates";

/// Users of other tools try the names of their methods.
std::string_view other_than_method(std::string_view value) {
    const bool is_known =
        value.find("hash") != std::string_view::npos || value == "lsh" || value == "jaccard";
    return is_known ? jaccard_method : "";
}

/// Users of tools that measure similarity try 0.8.
std::string_view other_than_threshold(std::string_view value) {
    double number = 0;
    std::from_chars(value.data(), value.data() + value.size(), number);
    return number > 0.5 ? jaccard_method : "";
}

void declare_method(command_line& line, duplicate_options& options) {
    line.section("Method options");
    line.option("method", options);
    line.advise("--method", other_than_method);
    line.hint("--jaccard", jaccard_method);
    line.hint("--num-perm", jaccard_method);
    line.hint("--permutations", jaccard_method);
    line.hint("--ngram", "for shingles of N words use --method shingle --shingle N");
    line.option("threshold", options);
    line.advise("--threshold", other_than_threshold);
    line.option("unit", options);
    line.option("signature_length", options);
    line.option("slack", options);
    line.option("shingle", options);
    line.option("shingle_unit", options);
    line.option("similarity", options);
    line.option("hamming", options);
    line.option("cut", options);
}

std::vector<std::filesystem::path> parse_sources(const std::string& list) {
    std::vector<std::filesystem::path> sources;
    for (std::size_t begin = 0, end = 0; end != std::string::npos; begin = end + 1) {
        end = list.find(',', begin);
        const std::string source = list.substr(begin, end - begin);
        if (source.empty()) throw usage_error("a name is empty (expected names separated by commas)");
        sources.emplace_back(source);
    }
    return sources;
}

void declare(command_line& line, dedup_request& request) {
    line.arguments(
        "CORPUS", "Files, folders and patterns, as for quern build, read in this order; - is standard input.",
        request.inputs, false);
    declare_method(line, request.dedup.duplicates);
    line.section("Documents to compare");
    line.option("rule", request.dedup);
    line.option("keep", request.dedup);
    line.option(
        "--prefer", "SOURCE,...",
        "Prefer documents of these sources, the first one most: corpora as given, or files and folders "
        "in them. Within a source, and among the others, --keep decides.",
        "", [&](const std::string& value) { request.dedup.prefer = parse_sources(value); });
    line.option("--store", "DIR",
                "Also compare with the documents in DIR and add the new ones; creates DIR if it is missing. "
                "Documents with the same id and text are recognised, so an interrupted run resumes when "
                "started again.",
                "", [&](const std::string& value) { request.dedup.store = file_name(value); });
    line.options("--against", "CORPUS|STORE",
                 "Report only pairs of a new document and one of this set (a corpus, folders included, a "
                 "store of quern build or of --store). Repeatable: a document of any of these sets.",
                 [&](const std::string& value) { request.dedup.against.emplace_back(file_name(value)); });
    line.flag("--stream",
              "Read JSON lines from standard input and write a row for each document as it arrives: id, "
              "number of earlier documents that are its duplicates (by --rule, of those that stay), the "
              "nearest of them, distance, rate. "
              "Memory grows by about 300 bytes plus the id per document; texts are stored in --tmp. On a GPU "
              "(only with --device cuda) they are held in its memory, and documents that wait are compared "
              "together.",
              request.stream);
    declare_parts(line, request.parts);
    line.section("Output options");
    line.option("--pairs", "FILE",
                "Rows of id_a, id_b, distance, rate, each pair once, the earlier document first.",
                "standard output if neither --groups nor -o is given",
                [&](const std::string& value) { request.pairs = output_name(value); });
    line.option("--groups", "FILE",
                "Rows of group, id, kept (0 or 1): a kept document and those removed for it; "
                "with --rule near-kept, removed ones with the kept id, the distance and the rate.",
                "", [&](const std::string& value) { request.groups = output_name(value); });
    line.option(
        "-o,--output", "FILE|DIR/",
        "The kept documents, in their order: lines of JSON lines and TSV byte for byte, others as "
        "JSON lines; for a name ending in .parquet, rows of Parquet files with all columns; with --binary "
        "the paths of the kept files, one per line. - is standard output, "
        "for these three options. DIR/, with a slash: a new folder with one file for each file of the "
        "corpus, under the same name and in the same form.",
        "", [&](const std::string& value) { request.kept = output_name(value); });
    line.flag(
        "--resume",
        "With -o DIR/: continue a run of the same command that was killed or interrupted, if there is one, "
        "and keep what is finished if this one is. The result is the same.",
        request.dedup.resume);
    line.option("--report", "FILE.html",
                "Write an HTML page: counts, rates, the largest groups with their differences side by side.",
                "", [&](const std::string& value) { request.report = file_name(value); });
    declare_common(line, request.common, {.output = false, .gpu = true});
}

void describe(command_line& line, dedup_request& request) {
    declare(line, request);
    declare_corpus(line, request.corpus, corpus_forms::and_binary);
    declare_binary(line, request.binary);
    declare_text(line, request.text, "min_length");  // declare_parts has it
    declare_cluster(line, request.cluster);
    line.example("quern dedup crawl.jsonl.zst -o clean.jsonl --groups groups.tsv",
                 "A corpus without near-duplicates, and the groups of documents found to be the same.");
    line.example("quern dedup essays/ --threshold 0.1 --report essays.html",
                 "Pairs on the screen, and a page about them.");
    line.example("quern dedup today.jsonl --store seen -o new.jsonl",
                 "Every night: the new documents, compared with everything seen before.");
    line.example("quern dedup train.jsonl --against test.jsonl -o train-clean.jsonl",
                 "Training data without near-copies of the test set.");
    line.example("quern dedup --binary photos/ -o kept.txt",
                 "Files that are not text; the paths of those to keep.");
    line.example("quern dedup crawl.jsonl --level substring -o clean.jsonl --cuts cuts.tsv",
                 "Documents without what an earlier one has already, from 50 characters on.");
}

/// Refuses options that the method ignores.
void refuse_idle_options(command_line& line, duplicate_method chosen) {
    using method = duplicate_method;
    struct scope {
        const char* option;
        std::vector<method> methods;
    };
    const std::vector<method> edits{method::automatic, method::exhaustive, method::signature,
                                    method::shared_memory, method::global_memory},
        signatures{method::signature, method::shared_memory, method::global_memory},
        words{method::shingle, method::simhash, method::i_match};
    const scope scopes[] = {{"--threshold", edits},
                            {"--unit", edits},
                            {"--signature-length", signatures},
                            {"--slack", signatures},
                            {"--shingle", {method::shingle}},
                            {"--shingle-unit", {method::shingle}},
                            {"--similarity", {method::shingle}},
                            {"--hamming", {method::simhash}},
                            {"--cut", {method::simhash}},
                            {"--language", words},
                            {"--tokens", words},
                            {"--min-length", words},
                            {"--stop-words", words},
                            {"--stem", words}};
    const auto name = [](method m) { return duplicate_method_names[static_cast<std::size_t>(m)]; };
    for (const auto& [option, methods] : scopes) {
        std::string others;
        for (const method m : methods) others.append(others.empty() ? "" : ", ").append(name(m));
        line.require_used(option, std::ranges::find(methods, chosen) != methods.end(),
                          fmt::format("requires --method {}; {} ignores it", others, name(chosen)));
    }
}

/// Standard input can be read once.
void refuse_repeated_input(const dedup_request& request) {
    auto readers = std::ranges::count(request.inputs, "-") + std::ranges::count(request.dedup.against, "-");
    if (request.stream && request.inputs.empty()) ++readers;
    if (readers > 1) throw usage_error("standard input (-) can be given only once");
}

constexpr std::uint64_t rows_at_once = 65536;  ///< between two checks of the progress and the stop flag

void report_written(const session& job, std::string_view stage, std::uint64_t done, std::uint64_t all,
                    std::string_view unit) {
    if (done % rows_at_once != 0) return;
    job.ctx.check_stop();
    job.ctx.report({stage, done, all, unit});
}

void write_groups(const dedup_result& result, removal_rule rule, const session& job, output& to) {
    std::vector<std::string> columns{"group", "id", "kept"};
    const bool has_pairs = rule == removal_rule::near_kept;
    if (has_pairs) columns.insert(columns.end(), {"kept_id", "distance", "rate"});
    auto rows = job.rows(to, columns);
    const cell nothing = std::monostate{};
    std::uint64_t number = 0;
    for (const duplicate_group& group : result.groups()) {
        report_written(job, "write groups", number, result.groups().size(), "groups");
        for (const std::uint32_t d : group.members) {
            const std::uint64_t is_kept = d == group.kept ? 1 : 0;
            if (!has_pairs) {
                rows.row({number, result.id(d), is_kept});
            } else if (is_kept != 0) {
                rows.row({number, result.id(d), is_kept, nothing, nothing, nothing});
            } else {
                const auto pair =
                    std::ranges::lower_bound(result.removed(), d, {}, &removed_duplicate::document);
                rows.row(
                    {number, result.id(d), is_kept, result.id(pair->kept), pair->distance, pair->rate()});
            }
        }
        ++number;
    }
    rows.finish();
}

void write_results(const dedup_result& result, removal_rule rule, const session& job,
                   std::optional<output>& pairs, std::optional<output>& groups, std::optional<output>& kept,
                   std::optional<output>& report, bool to_folder, bool to_rows) {
    if (pairs) {
        auto rows = job.rows(*pairs, pair_columns);
        std::uint64_t done = 0;
        for (const duplicate_pair& p : result.pairs()) {
            report_written(job, "write pairs", done++, result.pairs().size(), "pairs");
            write_pair(rows, result.id(p.a), result.id(p.b), p);
        }
        rows.finish();
    }
    if (groups) {
        write_groups(result, rule, job, *groups);
    }
    if (kept && to_rows) {
        result.write_kept_rows(job.documents(*kept), job.ctx);
    } else if (kept) {
        result.write_kept(job.documents(*kept));
    }
    if (report) job.ctx.report({"write report", 0, 0, "bytes"});
    if (report) result.write_report([&](std::string_view bytes) { report->write(bytes); });
    const auto commit = [&] { commit_given({&pairs, &groups, &kept, &report}); };
    if (to_folder) {
        result.write_kept_folder(job.ctx, commit);
    } else {
        commit();
    }
}

int find_and_write(dedup_request& request, session& job) {
    if (request.pairs.empty() && request.groups.empty() && request.kept.empty()) request.pairs = "-";
    const bool to_folder = !request.dedup.kept_folder.empty();
    auto pairs = open_if({request.pairs}, job), groups = open_if({request.groups}, job),
         kept = open_if(file_of_documents(request.kept), job),
         report = open_if(report_page(request.report), job);
    const bool to_rows = holds_rows(file_of_documents(request.kept));
    request.dedup.keep_rows = to_rows;
    request.dedup.keep_records = kept && !to_rows;
    request.dedup.list_pairs = pairs || report;

    dedup_result result = request.cluster.is_used()
                              ? dedup_of_job(request.dedup, request.cluster.share, job.ctx)
                              : dedup(request.dedup, job.ctx);
    job.statistics = std::move(result.statistics);
    job.stage("write", [&] {
        write_results(result, request.dedup.rule, job, pairs, groups, kept, report, to_folder, to_rows);
    });
    job.messages.finish();
    std::string outcome = counted(result.documents(), "document");
    if (result.earlier() != 0) outcome += fmt::format(" (and {} before)", grouped(result.earlier()));
    if (result.pair_count()) outcome += ", " + counted(*result.pair_count(), "pair");
    outcome +=
        fmt::format(", {}, {} dropped", counted(result.groups().size(), "group"), grouped(result.dropped()));
    report_reading(job.messages, result.counts, result.issues, outcome);
    job.write_statistics();
    return 0;
}

}  // namespace

int run_dedup(const command& self, const std::vector<std::string>& arguments) {
    dedup_request request;
    command_line line(self, "CORPUS... [OPTION]...",
                      "Finds near-duplicate documents: exactly all pairs whose edit rate is below the "
                      "threshold. Writes the pairs, the groups they form, and the corpus with one document "
                      "of each group. The results are the same for any number of threads, any memory budget "
                      "and any device.\n\nFinding no near-duplicates is a normal result: exit code 0.");
    describe(line, request);
    line.parse(arguments);
    settle_parts(line, request.parts, request.text);
    const bool whole = request.parts.options.level == dedup_level::document;
    if (whole) refuse_idle_options(line, request.dedup.duplicates.method);
    refuse_repeated_input(request);
    choose_binary(request.binary, request.corpus);

    session job(self, request.common);
    job.follow_links = request.corpus.follow_links;
    request.dedup.inputs = inputs_of(request.inputs, request.corpus, request.stream ? "" : "CORPUS");
    request.dedup.against = expand_inputs(request.dedup.against);
    take_reading_rules(request.corpus, request.dedup);
    request.dedup.text = request.text.over({});
    if (request.cluster.is_task())
        return run_step_of_task(request.cluster, job, [&](const task_file& task, task_results& results) {
            run_dedup_task(request.dedup, task, results, job.ctx);
        });
    if (request.cluster.is_used() && (!whole || request.stream))
        throw usage_error("only whole documents of a corpus are distributed, not --level and --stream");
    std::vector<std::filesystem::path> files = request.dedup.inputs;
    files.insert(files.end(), request.dedup.against.begin(), request.dedup.against.end());
    files.push_back(request.text.stop_word_file());
    if (!whole) {
        static_cast<corpus_input&>(request.parts.options) = request.dedup;
        request.parts.options.against = request.dedup.against;
        request.parts.kept = request.kept;
        const bool to_folder = request.kept.ends_with('/');
        require_file_or_slash(request.kept);
        if (to_folder) files.push_back(harmless_folder(request.kept, files));
        job.check_destinations({{request.parts.cuts}, {to_folder ? "" : request.kept}}, std::move(files));
        return dedup_parts(request.parts, job);
    }
    line.require_used("--resume", request.kept.ends_with('/'), "requires --output DIR/, with a slash");
    if (request.dedup.resume && !request.dedup.store.empty())
        throw usage_error(
            "--resume and --store cannot be combined; with --store the same command continues from its "
            "documents");
    if (!request.dedup.store.empty()) {
        refuse_harm(request.dedup.store, files);
        check_destination({.path = request.dedup.store, .is_folder = true}, false);
    }
    files.push_back(request.dedup.store);
    if (request.kept.ends_with('/')) {
        files.push_back(harmless_folder(request.kept, files));
        request.dedup.kept_folder = request.kept;
    }
    if (is_complete_already(request.dedup, job)) return 0;
    job.check_destinations(
        {{request.pairs}, {request.groups}, file_of_documents(request.kept), report_page(request.report)},
        std::move(files));
    if (request.cluster.is_used()) {
        const auto plan = [&](unsigned shards) { return plan_dedup(request.dedup, shards, job.ctx); };
        if (!distribute(self, line, request.cluster, job, plan)) return 0;
    }
    if (request.stream) return dedup_stream(request, job);
    return run_resumable(request.dedup, job, [&] { return find_and_write(request, job); });
}

}  // namespace quern::cli
