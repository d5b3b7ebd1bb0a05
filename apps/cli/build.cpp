// SPDX-License-Identifier: Apache-2.0
// quern build
#include "quern/tasks/build.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <span>

#include "commands.hpp"
#include "quern/base/document_fields_option_table.hpp"
#include "quern/base/error.hpp"
#include "quern/tasks/sync_options.hpp"
#include "session.hpp"
#include "skipped_stages.hpp"
#include "source_permissions.hpp"
#include "spaces.hpp"
#include "values.hpp"

namespace quern::cli {
namespace {

std::string outcome_of(const build_result& result) {
    const reading_counts& counts = result.counts;
    std::string text = counted(result.documents, "document") + ", " + counted(result.words, "word") + ", " +
                       grouped(result.vocabulary) + " distinct";
    if (result.duplicates != 0) text += ", " + counted(result.duplicates, "near-duplicate") + " excluded";
    if (counts.redirects != 0) text += ", " + counted(counts.redirects, "redirect");
    if (result.links + result.dangling_links != 0) {
        text += fmt::format(", {} (and {} to missing documents)", counted(result.links, "link"),
                            grouped(result.dangling_links));
    }
    return text;
}

/// An update uses the options the store was built with: refuses others instead of ignoring them.
void check_update(const build_options& options, const text_choice& text) {
    const std::string_view option = options.update ? "--update" : options.replace ? "--replace" : "--delete";
    if (!options.fields.kept.empty())
        throw usage_error(fmt::format(
            "--keep-fields cannot be combined with {}, which keeps the fields of the store", option));
    if (!options.indexed_fields.empty())
        throw usage_error(fmt::format(
            "--index-fields cannot be combined with {}, which indexes the fields of the store", option));
    if (!options.skip.empty() || options.ngrams)
        throw usage_error(fmt::format("{} cannot be combined with {}, which runs the stages of the store",
                                      options.ngrams ? "--ngrams" : "--skip", option));
    if (text.any())
        throw usage_error(
            fmt::format("text options cannot be combined with {}, which uses those of the store", option));
}

/// The same command makes a store and keeps it in step with its inputs, so that options may be given again.
void check_sync(const build_options& options, const text_choice& text) {
    if (!is_store(options.store)) return;
    const store_info info = read_store_info(options.store);
    std::string other(options_unlike_store(options, text.over(info.text), info));
    if (other.empty()) return;
    if (other != "text options") {
        std::ranges::replace(other, '_', '-');
        other.insert(0, "--");
    }
    throw usage_error(
        fmt::format("{} was built with other {}, which --sync keeps; give the same ones or none, "
                    "or build it anew: --force without --sync",
                    options.store.string(), other));
}

/// The outcome for the documents of the store that existed.
void report_changes(console& messages, const store_changes& changes, const std::filesystem::path& store) {
    if (changes.up_to_date) return messages.info(store.string() + " is up to date: no input has changed");
    messages.info(fmt::format("{} added, {} changed, {} removed", grouped(changes.added),
                              grouped(changes.changed), grouped(changes.removed)));
    if (changes.unknown_ids == 0) return;
    std::string some;
    for (const std::string& id : changes.some_unknown_ids) some += (some.empty() ? "" : ", ") + id;
    messages.warning(fmt::format("{} to delete not in the store: {}{}", counted(changes.unknown_ids, "id"),
                                 some, changes.unknown_ids > changes.some_unknown_ids.size() ? " …" : ""));
}

}  // namespace

int run_build(const command& self, const std::vector<std::string>& arguments) {
    build_options options;
    common_options common;
    text_choice text;
    std::vector<std::string> inputs;
    std::string report_file;
    bool deletes = false;

    command_line line(
        self, "CORPUS... -o STORE [OPTION]...",
        "Reads a collection and writes a store: dictionary, postings, document table with titles and "
        "snippets, link graph. The same collection and text options give the same bytes for any number of "
        "threads, any memory budget and any machine. The store appears complete or not at all: an "
        "interrupted build or a full disk leaves nothing half-written and keeps what was there before.\n\n"
        "A corpus is a Wikipedia XML dump, a folder (.txt .md .html and source code), JSON lines ({\"id\", "
        "\"text\"}, optional title and links), CSV or TSV, Parquet, Arrow, TREC SGML, wikiextractor output, "
        "WARC files of web crawls, mail (mbox, .eml), office documents, EPUB, PDF; named by --input-format, "
        "also plain text with a document on each line or between empty lines, or one word on each line. Each "
        "may be plain or compressed with gzip, bzip2, zstd or xz; format and compression are detected from "
        "the content.");
    line.arguments("CORPUS",
                   "Files, folders and patterns in quotes ('shards/*.jsonl.zst'), read in this order; - is "
                   "standard input (JSON lines unless --input-format names another form).",
                   inputs, false);
    line.section("Build options");
    line.option(
        "-o,--output", "STORE", "The folder to write. Replaces an existing one only with --force.", "",
        [&](const std::string& value) {
            if (value == "-")
                throw usage_error("a store cannot go to standard output (expected the name of a folder)");
            options.store = file_name(value);
        },
        true);
    declare_skip(line, options.skip);
    line.option("--report", "FILE.html",
                "Write a self-contained HTML page: sizes, seconds, rejected input, near-duplicates, words, "
                "link ranks.",
                "", [&](const std::string& value) { report_file = file_name(value); });
    line.flag("--update",
              "Add the corpus to the existing store, with its text options and stages. Documents that are "
              "already in it are skipped.",
              options.update);
    line.flag("--replace",
              "As --update, but a document with the id of a stored one replaces it: the old one is deleted, "
              "the new "
              "one is added at the end.",
              options.replace);
    line.option(
        "--delete", "FILE",
        "Delete the documents whose ids FILE lists, one on each line, from the existing store; - is standard "
        "input. CORPUS is then optional; if given, it is added afterwards.",
        "", [&](const std::string& value) {
            for (numbered_line& id : lines_of_file(file_name(value)))
                options.deleted_ids.push_back(std::move(id.text));
            deletes = true;
        });
    line.flag("--sync",
              "Bring the store up to date with CORPUS: add new documents, replace changed ones, delete "
              "missing ones. "
              "Without a store, an ordinary build; if nothing has changed, nothing is done.",
              options.sync);
    line.flag("--ngrams",
              "Also make the stage ngrams: posting lists of the pairs of frequent words, for quern search "
              "--order.",
              options.ngrams);
    line.option("keep_fields", options.fields);
    line.option(
        "--index-fields", "NAME,...",
        "Keep these members, too, and search their values: their words come after those of the text, and "
        "each is a field for name:word and --field-weights.",
        "", [&](const std::string& value) { options.indexed_fields = parse_field_list(value); });
    line.option(
        "--vectors", "FILE",
        "Keep a vector for each document, for hybrid search: JSON lines of id and vector, word2vec or GloVe "
        "text (by id), or .npy, .fvecs, .safetensors and others (in the order of the documents).",
        "", [&](const std::string& value) { options.vectors.file = file_name(value); });
    declare_corpus(line, options, corpus_forms::and_indexes);
    declare_text(line, text);
    declare_common(line, common, {.rows = false, .output = false, .gpu = true, .seed = true});
    line.example("quern build enwiki-latest-pages-articles.xml.bz2 -o wiki",
                 "A store of Wikipedia, with all stages.");
    line.example("quern build notes/ mail.jsonl.zst -o mine --stem porter --stop-words en",
                 "A folder and a file, with English words reduced to their stems.");
    line.example("quern build notes/ -o mine --report mine.html",
                 "The same kind of store, with a page about what was read, excluded and built.");
    line.example("quern build papers.jsonl -o papers --index-fields abstract,tags",
                 "Two more fields of the records are searched, as in abstract:word.");
    line.example("quern build notes.jsonl -o mine --vectors embeddings.npy",
                 "With a vector for each document, for hybrid search.");
    line.example("quern build notes/ -o mine --sync", "Repeatedly: the store follows the folder.");
    line.example("quern build -o mine --delete ids.txt", "The store without these documents.");
    line.example("zcat crawl.gz | quern build - -o crawl --memory 2G --stats crawl.json",
                 "From a pipe, within 2 GiB of memory, with a record of the run.");
    line.parse(arguments);

    session job(self, common);
    job.follow_links = options.follow_links;
    options.inputs = inputs_of(inputs, options, deletes ? "" : "CORPUS");
    options.text = text.over({});
    if (options.sync && (options.update || options.replace || deletes))
        throw usage_error(
            "--sync cannot be combined with --update, --replace or --delete: it follows CORPUS alone");
    if (options.update || options.replace || deletes) check_update(options, text);
    if (options.sync) check_sync(options, text);
    options.force = common.force;
    std::vector<std::filesystem::path> files = options.inputs;
    files.push_back(text.stop_word_file());
    const destination page = report_page(report_file);
    job.check_destinations({{.path = options.store, .is_folder = true}, page}, std::move(files));
    if (options.update || options.replace || deletes)
        keep_private(std::span(&options.store, 1), false);  // its documents stay
    std::optional<output> report;
    if (!report_file.empty()) report = job.open(page);

    build_result result = build(options, job.ctx);
    job.messages.finish();
    if (report) {
        write_build_report(
            options, result, [&](std::string_view bytes) { report->write(bytes); }, job.ctx);
        report->commit();
    }
    report_reading(job.messages, result.counts, result.issues, outcome_of(result));
    if (result.changes) report_changes(job.messages, *result.changes, options.store);
    job.statistics.stages = std::move(result.statistics.stages);
    job.statistics.counts = std::move(result.statistics.counts);
    job.statistics.device = std::move(result.statistics.device);
    job.statistics.device_reason = std::move(result.statistics.device_reason);
    job.write_statistics();
    return 0;
}

}  // namespace quern::cli
