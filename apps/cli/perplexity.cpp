// SPDX-License-Identifier: Apache-2.0
// quern perplexity
#include <fmt/format.h>

#include <utility>
#include <vector>

#include "commands.hpp"
#include "quern/base/error.hpp"
#include "quern/tasks/language_model_option_table.hpp"
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
    return said + fmt::format("; perplexity {:.2f}, {:.3f} bits per byte", made.perplexity,
                              made.bits_per_byte + 0.0);  // not -0
}

void check_request(command_line& line, const perplexity_options& options,
                   const std::vector<std::string>& inputs, bool generates, bool bits) {
    for (const char* const name : {"--seed", "--max-words", "--begin"})
        line.require_used(name, generates, "requires --generate");
    for (const char* const name : {"--weights", "--tune"})
        line.require_used(name, !options.interpolate.empty(), "requires --interpolate");
    line.require_used("--gpu-memory", !generates, "has no effect with --generate, which runs on the CPU");
    if (inputs.empty() && !generates) throw usage_error("CORPUS is required");
    if (!inputs.empty() && generates) throw usage_error("--generate reads no CORPUS");
    if (generates && !options.interpolate.empty())
        throw usage_error("--generate uses one model; it cannot be combined with --interpolate");
    if (bits && options.sentences)
        throw usage_error("--bits-per-byte scores documents; it cannot be combined with --sentences");
    if (options.tune && (bits || options.sentences || !options.weights.empty()))
        throw usage_error(
            "--tune writes only weights; it cannot be combined with --bits-per-byte, --sentences or "
            "--weights");
}

int finish(session& job, row_writer& rows, output& to) {
    job.messages.finish();
    rows.finish();
    to.commit();
    job.write_statistics();
    return 0;
}

int write_texts(session& job, output& to, const perplexity_options& options,
                const generate_options& generated) {
    const language_model model = job.stage("model", [&] { return language_model::open(options, job.ctx); });
    auto rows = job.rows(to, {"text"});
    job.stage("generate", [&] {
        for (const std::string& text : model.generate(generated, job.ctx)) rows.row({std::string_view(text)});
    });
    return finish(job, rows, to);
}

int write_weights(session& job, output& to, const perplexity_options& options) {
    perplexity_result made = perplexity(options, job.ctx, [](const perplexity_row&) {});
    auto rows = job.rows(to, {"model", "weight"});
    for (std::size_t i = 0; i < made.weights.size(); ++i) {
        const std::string name = (i == 0 ? options.model : options.interpolate[i - 1]).string();
        rows.row({std::string_view(name), made.weights[i]});
    }
    report_reading(job.messages, made.counts, made.issues, outcome_of(made));
    job.statistics = std::move(made.statistics);
    return finish(job, rows, to);
}

}  // namespace

int run_perplexity(const command& self, const std::vector<std::string>& arguments) {
    common_options common;
    build_options corpus;
    text_choice text;
    std::string model;
    std::vector<std::string> inputs;
    perplexity_options options;
    generate_options generated;
    bool bits = false;

    command_line line(
        self, "MODEL CORPUS... [OPTION]...",
        "Scores texts with a back-off language model in the ARPA format, from quern ngrams --arpa, KenLM "
        "or SRILM: id, words, unknown words, the logarithm (base 10) of the text's probability, and "
        "its perplexity. A text that the model predicts well has a low perplexity.");
    line.argument(
        "MODEL", "A language model in the ARPA format, plain or compressed, or a compact one of quern model.",
        model);
    line.arguments("CORPUS", "Files and folders, as for quern build; - is standard input (JSON lines).",
                   inputs, false);
    line.section("Scoring options");
    line.option("sentences", options);
    line.option("tokenized", options);
    line.option("marks", options);
    line.flag("--bits-per-byte", "Add a column: bits for each byte of the text of a document.", bits);
    line.section("Several models");
    line.options("--interpolate", "MODEL",
                 "Another model; a word's probability is the weighted mean. Repeatable.",
                 [&](const std::string& value) { options.interpolate.emplace_back(file_name(value)); });
    line.option("weights", options);
    line.option("tune", options);
    line.section("Texts by chance");
    line.option("generate", generated);
    line.option("seed", generated);
    line.option("max_words", generated);
    line.option("begin", generated);
    line.section("Corpus options");
    declare_corpus(line, corpus);
    declare_text(line, text);
    declare_common(line, common, {.gpu = true});
    line.example("quern perplexity news.arpa crawl.jsonl -o scores.tsv", "A row for each document.");
    line.example("quern perplexity kenlm.arpa.gz sentences.txt --tokenized --sentences",
                 "A row for each line, scored as KenLM scores it.");
    line.example("quern perplexity news.arpa held-out.jsonl --interpolate wiki.arpa --tune",
                 "The weights of two models that predict a text best.");
    line.example("quern perplexity news.arpa --generate 10 --seed 7", "Ten random texts.");
    line.parse(arguments);
    check_request(line, options, inputs, generated.count != 0, bits);
    if (options.tokenized && text.any())
        throw usage_error("--tokenized takes the words as they are; it cannot be combined with text options");

    session job(self, common);
    job.follow_links = corpus.follow_links;
    if (generated.count != 0) job.choose_device("perplexity --generate", offered_places::cpu_only);
    options.model = file_name(model);
    options.inputs.assign(inputs.begin(), inputs.end());
    take_reading_rules(corpus, options);
    options.text = text.over({});
    std::vector<std::filesystem::path> files = options.inputs;
    files.insert(files.end(), {options.model, text.stop_word_file()});
    files.insert(files.end(), options.interpolate.begin(), options.interpolate.end());
    output to = job.open_output(common.output, files);
    if (generated.count != 0) return write_texts(job, to, options, generated);
    if (options.tune) return write_weights(job, to, options);
    std::vector<std::string> columns = {"id", "words", "unknown", "log10", "perplexity"};
    if (bits) columns.emplace_back("bits_per_byte");
    auto rows = job.rows(to, columns);
    std::vector<cell> cells;
    std::string name;
    perplexity_result made = perplexity(options, job.ctx, [&](const perplexity_row& row) {
        name = row.id;
        if (row.number != 0) name.append(1, ':').append(std::to_string(row.number));
        cells = {std::string_view(name), row.words, row.unknown, row.logarithm, row.perplexity};
        if (bits) cells.emplace_back(row.bits_per_byte);
        rows.row(cells);
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
