// SPDX-License-Identifier: Apache-2.0
// quern build
#include "quern/tasks/build.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "commands.hpp"
#include "quern/base/error.hpp"
#include "session.hpp"
#include "values.hpp"

namespace quern::cli {
namespace {

std::string outcome_of(const build_result& result) {
    const reading_counts& counts = result.counts;
    std::string text = counted(result.documents, "document") + ", " + counted(result.words, "word") + ", " +
                       grouped(result.vocabulary) + " distinct";
    if (result.copies != 0) text += ", " + counted(result.copies, "near-duplicate") + " left out";
    if (counts.redirects != 0) text += ", " + counted(counts.redirects, "redirect");
    if (result.links + result.dangling_links != 0) {
        text += fmt::format(", {} (and {} to documents not here)", counted(result.links, "link"),
                            grouped(result.dangling_links));
    }
    return text;
}

/// Names with commas between; `all` is one.
std::set<build_stage> parse_stages(std::string_view text) {
    std::set<build_stage> stages;
    for (std::size_t begin = 0; begin <= text.size();) {
        const std::size_t end = std::min(text.find(',', begin), text.size());
        const std::string_view name = text.substr(begin, end - begin);
        if (name == "all")
            stages.insert(all_build_stages.begin(), all_build_stages.end());
        else
            stages.insert(parse_name<build_stage>(name, build_stage_names));
        begin = end + 1;
    }
    return stages;
}

/// What a store was made with is neither to be asked for otherwise nor to be passed over in silence.
void check_update(const build_options& options, const text_choice& text) {
    if (!options.skip.empty())
        throw usage_error("--update runs the stages of the store; --skip cannot be given");
    if (text.any()) throw usage_error("--update has the text options of the store; none can be given");
}

}  // namespace

int run_build(const command& self, const std::vector<std::string>& arguments) {
    build_options options;
    common_options common;
    text_choice text;
    std::vector<std::string> inputs;
    std::string report_file;

    command_line line(
        self, "CORPUS... -o STORE [OPTION]...",
        "Reads a collection and writes a store: dictionary, postings, document table with titles and "
        "snippets, link graph. The same collection and text options give the same bytes, whatever the "
        "threads, the memory and the machine. Under its final name there is a whole store or what was "
        "there before; interrupted or out of disk, nothing half-written is left.\n\n"
        "A corpus is a Wikipedia XML dump, a folder (.txt .md .html and source code), JSON lines "
        "({\"id\", \"text\"}, optional title and links), TSV (id, tab, text), TREC SGML, wikiextractor "
        "output, or lines (one word a line, empty lines between documents). Any of them plain or "
        "compressed with gzip, bzip2, zstd or xz, all told from the content.");
    line.arguments("CORPUS", "Files and folders, read in this order; - is standard input (JSON lines).",
                   inputs, true);
    line.section("Build options");
    line.option(
        "-o,--output", "STORE", "The folder to write. An existing one is refused without --force.", "",
        [&](const std::string& value) {
            if (value == "-") throw usage_error("a store is a folder; it cannot go to standard output");
            options.store = value;
        },
        true);
    line.option(
        "--skip", "STAGE,...",
        "Leave out stages: duplicates, ranks, thesaurus, vectors; or all of them. The index is always "
        "made.",
        "", [&](const std::string& value) { options.skip = parse_stages(value); });
    line.option(
        "--report", "FILE.html",
        "One page for people, which needs no network: sizes, seconds, what was rejected, copies, words, link "
        "ranks.",
        "", [&](const std::string& value) { report_file = value; });
    line.flag(
        "--update",
        "Add the corpus to the store that is there, with its text options and stages. Documents that it "
        "holds already are passed over.",
        options.update);
    declare_corpus(line, options);
    declare_text(line, text);
    declare_common(line, common, {.rows = false, .output = false});
    line.example("quern build enwiki-latest-pages-articles.xml.bz2 -o wiki",
                 "A store of Wikipedia, with all stages.");
    line.example("quern build notes/ mail.jsonl.zst -o mine --stem porter --stop-words en",
                 "A folder and a file, English words reduced to their stems.");
    line.example("quern build notes/ -o mine --report mine.html",
                 "And a page about what was read, left out and made.");
    line.example("zcat crawl.gz | quern build - -o crawl --memory 2G --stats crawl.json",
                 "From a pipe, within 2 GiB, with a record of the run.");
    line.parse(arguments);

    session run(self, common);
    options.inputs.assign(inputs.begin(), inputs.end());
    options.text = text.over({});
    if (options.update) check_update(options, text);
    options.force = common.force;
    std::vector<std::filesystem::path> files = options.inputs;
    files.push_back(text.stop_word_file());
    if (report_file == "-") throw usage_error("--report needs the name of a file");
    run.check_destinations({{.path = options.store, .is_folder = true}, {report_file}}, std::move(files));
    std::optional<output> report;
    if (!report_file.empty()) report = run.open({report_file});

    build_result result = build(options, run.run);
    run.messages.finish();
    if (report) {
        write_build_report(
            options, result, [&](std::string_view bytes) { report->write(bytes); }, run.run);
        report->commit();
    }
    tell_reading(run.messages, result.counts, result.issues, outcome_of(result));
    run.statistics.stages = std::move(result.statistics.stages);
    run.statistics.counts = std::move(result.statistics.counts);
    run.statistics.device = std::move(result.statistics.device);
    run.statistics.device_reason = std::move(result.statistics.device_reason);
    run.write_statistics();
    return 0;
}

}  // namespace quern::cli
