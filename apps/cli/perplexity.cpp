// SPDX-License-Identifier: Apache-2.0
// quern perplexity
#include <fmt/format.h>

#include "commands.hpp"
#include "quern/tasks/perplexity_option_table.hpp"
#include "session.hpp"
#include "values.hpp"

namespace quern::cli {
namespace {

std::string outcome_of(const perplexity_result& made) {
    std::string said = counted(made.documents, "document");
    if (made.sentences != 0) said += ", " + counted(made.sentences, "sentence");
    said += ", " + counted(made.words, "word");
    if (made.unknown != 0)
        said += fmt::format(", {} unknown ({:.2f}%)", grouped(made.unknown),
                            100 * static_cast<double>(made.unknown) / static_cast<double>(made.words));
    if (made.words == 0) return said;
    return said +
           fmt::format("; perplexity {:.2f}, {:.3f} bits per byte", made.perplexity, made.bits_per_byte);
}

}  // namespace

int run_perplexity(const command& self, const std::vector<std::string>& arguments) {
    common_options common;
    build_options corpus;
    text_choice text;
    std::string model;
    std::vector<std::string> inputs;
    perplexity_options options;

    command_line line(
        self, "MODEL CORPUS... [OPTION]...",
        "Scores texts with a back-off language model in the ARPA format, from quern ngrams --arpa, KenLM "
        "or SRILM: id, words, unknown words, the logarithm (base 10) of the text's probability, and "
        "its perplexity. A text that the model predicts well has a low perplexity.");
    line.argument("MODEL", "A language model in the ARPA format, plain or compressed.", model);
    line.arguments("CORPUS", "Files and folders, as for quern build; - is standard input (JSON lines).",
                   inputs, true);
    line.section("Scoring options");
    line.option("sentences", options);
    line.option("tokenized", options);
    line.option("marks", options);
    line.section("Corpus options");
    declare_corpus(line, corpus);
    declare_text(line, text);
    declare_common(line, common, {.scratch = false});
    line.example("quern perplexity news.arpa crawl.jsonl -o scores.tsv", "A row for each document.");
    line.example("quern perplexity kenlm.arpa.gz sentences.txt --tokenized --sentences",
                 "A row for each line, scored as KenLM scores it.");
    line.parse(arguments);
    if (options.tokenized && text.any())
        throw usage_error("--tokenized takes the words as they are; it does not go with text options");

    session job(self, common);
    job.follow_links = corpus.follow_links;
    job.choose_device("perplexity", offered_places::cpu_only);
    options.model = file_name(model);
    options.inputs.assign(inputs.begin(), inputs.end());
    options.input_format = corpus.input_format;
    options.max_errors = corpus.max_errors;
    options.ids = corpus.ids;
    options.follow_links = corpus.follow_links;
    options.text = text.over({});
    std::vector<std::filesystem::path> files = options.inputs;
    files.insert(files.end(), {options.model, text.stop_word_file()});
    output to = job.open_output(common.output, files);
    auto rows = job.rows(to, {"id", "words", "unknown", "log10", "perplexity"});
    std::string name;
    perplexity_result made = perplexity(options, job.ctx, [&](const perplexity_row& row) {
        name = row.id;
        if (row.number != 0) name += ":" + std::to_string(row.number);
        rows.row({std::string_view(name), row.words, row.unknown, row.logarithm, row.perplexity});
    });
    job.messages.finish();
    rows.finish();
    to.commit();
    report_reading(job.messages, made.counts, made.issues, outcome_of(made));
    job.statistics = std::move(made.statistics);
    job.write_statistics();
    return 0;
}

}  // namespace quern::cli
