// SPDX-License-Identifier: Apache-2.0
// quern ngrams
#include "quern/tasks/ngrams.hpp"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "commands.hpp"
#include "ngram_options.hpp"
#include "quern/base/error.hpp"
#include "quern/tasks/dictionary.hpp"
#include "session.hpp"
#include "values.hpp"

namespace quern::cli {
namespace {

struct request {
    common_options common;
    build_options corpus;
    text_choice text;
    std::vector<std::string> inputs;
    ngrams_options asked;
};

void declare_counting(command_line& line, ngram_options& ngrams) {
    declare_order(line, ngrams);
    line.flag("--only", "N-grams of that length alone.", ngrams.only);
    declare_min_count(line, ngrams);
    line.flag("--counts", "Write the counts of the history, too: h(d) and h(C).", ngrams.history_counts);
    line.option("--method", "NAME",
                "auto, strings, dictionary or suffix-sigma (on the CPU only); the named ones work in memory. "
                "The rows are the same.",
                "auto", [&](const std::string& text) {
                    ngrams.method = parse_name<ngram_method>(text, ngram_method_names);
                });
}

void declare_weighing(command_line& line, ngram_options& ngrams) {
    line.option("--measure", "NAME", "likelihood, or bm25 with the n-gram as a term.", "likelihood",
                [&](const std::string& text) {
                    ngrams.measure = parse_name<ngram_measure>(text, ngram_measure_names);
                });
    declare_smoothing(line, ngrams);
    declare_number(line, "--k1", "bm25: how soon more occurrences stop to count; 0 or more.", ngrams.k1);
    declare_number(line, "--b", "bm25: how much long documents are held back; 0 to 1.", ngrams.b);
}

void declare(command_line& line, request& request) {
    line.arguments("CORPUS", "Files and folders, as for quern build; - is standard input (JSON lines).",
                   request.inputs, true);
    line.section("N-gram options");
    declare_counting(line, request.asked.ngrams);
    declare_weighing(line, request.asked.ngrams);
    line.option("--dictionary", "FILE",
                "The words that are known, as quern dictionary wrote them, with its text options; every "
                "other word is <unk>.",
                "every word of the corpus",
                [&](const std::string& value) { request.asked.dictionary = value; });
    line.section("Of the whole collection (rows go out beside only with --output; - is standard output)");
    line.option("--totals", "FILE", "Counts: words, tab, count; by n, then by words.", "",
                [&](const std::string& value) { request.asked.totals = value; });
    line.option("--arpa", "FILE",
                "A back-off language model in the ARPA format, smoothed as --smoothing says.", "",
                [&](const std::string& value) { request.asked.arpa = value; });
    line.section("Corpus options");
    declare_corpus(line, request.corpus);
    declare_titles(line, request.asked.titles);
    declare_text(line, request.text);
    declare_common(line, request.common);
    line.example("quern ngrams notes --order 2 --counts",
                 "All words and pairs of every document, with all their counts.");
    line.example("quern ngrams enwiki.xml.bz2 --order 1 --measure bm25 -o weights.tsv",
                 "The BM25 weight of every word in every document.");
    line.example("quern ngrams enwiki.xml.bz2 --order 3 --smoothing absolute --arpa enwiki.arpa",
                 "A language model for KenLM, SRILM and others.");
}

/// The options as given; with a dictionary, over its own.
std::optional<text_options> text_asked_for(const request& request) {
    if (!request.text.any()) return {};
    if (request.asked.dictionary.empty()) return request.text.over({});
    const dictionary_info info = read_dictionary_info(request.asked.dictionary);
    return request.text.over(info.verbatim ? text_options{} : info.text);
}

std::string outcome_of(const ngrams_result& made, bool with_rows) {
    std::string told = fmt::format("{}, {}, {} distinct", counted(made.documents, "document"),
                                   counted(made.words, "word"), grouped(made.distinct));
    if (made.unknown != 0) {
        told += fmt::format(", {} unknown ({:.2f}%)", grouped(made.unknown),
                            100 * static_cast<double>(made.unknown) / static_cast<double>(made.words));
    }
    std::uint64_t distinct = 0, rows = 0;
    for (const ngram_totals& of_n : made.totals) {
        distinct += of_n.distinct;
        rows += of_n.rows;
    }
    told += "; " + counted(distinct, "n-gram");
    if (with_rows) told += ", " + counted(rows, "row");
    return told;
}

}  // namespace

int run_ngrams(const command& self, const std::vector<std::string>& arguments) {
    request request;
    command_line line(
        self, "CORPUS... [OPTION]...",
        "Writes every n-gram of every document: document, n, words, how often it occurs in the document and "
        "in the collection, and how likely the document generates its last word after the others. By "
        "document, "
        "then n, then words. The rows are the same whatever the threads, the memory and the method.");
    declare(line, request);
    line.parse(arguments);

    session run(self, request.common);
    ngrams_options& asked = request.asked;
    asked.inputs.assign(request.inputs.begin(), request.inputs.end());
    asked.input_format = request.corpus.input_format;
    asked.max_errors = request.corpus.max_errors;
    asked.text = text_asked_for(request);
    asked.replace = request.common.force;
    std::vector<std::filesystem::path> files = asked.inputs;
    files.insert(files.end(), {asked.dictionary, request.text.stop_word_file()});
    run.check_destinations({{request.common.output}, {asked.totals}, {asked.arpa}}, files);

    output collection;  // standard output
    const auto take_if = [&](const std::filesystem::path& file) -> std::function<void(std::string_view)> {
        if (file != "-") return {};
        return [&](std::string_view text) { collection.write(text); };
    };
    asked.take_totals = take_if(asked.totals);
    asked.take_arpa = take_if(asked.arpa);

    ngrams_result made;
    const bool files_only = request.common.output.empty() && (!asked.totals.empty() || !asked.arpa.empty());
    if (files_only) {
        made = ngrams(asked, run.run, {});
    } else {
        output to = run.open_output(request.common.output, files);
        const row_format format = run.format_for(to);
        if (format == row_format::table) {
            auto rows = run.rows(to, ngram_columns(asked.ngrams));
            std::vector<cell> cells;
            made = ngrams(asked, run.run, [&](const ngram_row& row) {
                cells = {row.document,      std::uint64_t{row.n},
                         row.words,         std::uint64_t{row.in_document},
                         row.in_collection, row.weight};
                if (asked.ngrams.history_counts) {
                    cells.emplace_back(std::uint64_t{row.history_in_document});
                    cells.emplace_back(row.history_in_collection);
                }
                rows.row(cells);
            });
            run.messages.finish();
            rows.finish();
        } else {
            made = ngrams_as_text(asked, format, run.run, [&](std::string_view text) { to.write(text); });
        }
        to.commit();
    }
    collection.commit();
    run.messages.finish();
    tell_reading(run.messages, made.counts, made.issues, outcome_of(made, !files_only));
    run.statistics = std::move(made.statistics);
    run.write_statistics();
    return 0;
}

}  // namespace quern::cli
