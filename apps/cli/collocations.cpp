// SPDX-License-Identifier: Apache-2.0
// quern collocations
#include "quern/tasks/collocations.hpp"

#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

#include "commands.hpp"
#include "quern/base/error.hpp"
#include "quern/tasks/collocations_option_table.hpp"
#include "quern/tasks/words_option_table.hpp"
#include "session.hpp"
#include "values.hpp"

namespace quern::cli {
namespace {

struct collocations_request {
    common_options common;
    collocations_options options;
    build_options corpus;  ///< --input-format, --max-errors
    text_choice text;
    std::vector<std::string> inputs;
};

void declare(command_line& line, collocations_request& request) {
    collocations_options& options = request.options;
    line.arguments(
        "CORPUS",
        "Files, folders and patterns, as for quern build, read in this order; - is standard input. "
        "Or one store, whose texts are read.",
        request.inputs, false);
    line.section("Collocation options");
    line.options("--word", "WORD", "Only the collocates of this word. Repeatable.",
                 [&](const std::string& value) { options.words.push_back(value); });
    line.option("by", options);
    line.option("top", options);
    line.option("min_both", options);
    line.section("Co-occurrences");
    line.option("window", options.params.counting);
    line.option("window_end", options.params);
    line.option("gaps", options.params);
    line.option("relation", options.params.counting);
    line.option("self", options.params.counting);
    line.option("min_count", options.params);
    line.option("vocabulary", options.params);
    line.section("Corpus options");
    declare_corpus(line, request.corpus);
    declare_text(line, request.text);
    declare_common(line, request.common);
    line.example("quern collocations essays/ --stop-words en --word tea --word coffee",
                 "What occurs with tea and with coffee.");
    line.example("quern collocations enwiki.xml.bz2 --by log-likelihood -o collocations.tsv",
                 "The collocates of every word, by log-likelihood.");
    line.example("quern collocations essays/ --word tea --relation position --window 2",
                 "Position by position: what stands before tea, and what after it.");
}

std::string position_text(int position) {
    return position == 0 ? "*" : fmt::format("{:+}", position);
}

std::string outcome_of(const collocations_result& made) {
    return fmt::format("{}, {}, {} distinct, {} in the vocabulary; {}, {}",
                       counted(made.counts.documents, "document"), counted(made.occurrences, "word"),
                       grouped(made.distinct), grouped(made.vocabulary),
                       counted(made.cooccurrences, "co-occurrence"), counted(made.rows, "row"));
}

}  // namespace

int run_collocations(const command& self, const std::vector<std::string>& arguments) {
    collocations_request request;
    command_line line(
        self, "CORPUS... [OPTION]...",
        "Finds the words that occur near a word more often than by chance. Writes for each word its best "
        "collocates: word, collocate, position, how often they co-occur, the co-occurrences of the word and "
        "those of the collocate with any word, mutual information (in bits), log-likelihood, logDice and "
        "t-score. The position is * if all positions in the window are one relation; with --relation "
        "position it is that of the collocate, such as -1 or +2, and all counts are of that position. "
        "Without a row it ends with exit code 1.");
    declare(line, request);
    line.parse(arguments);

    session job(self, request.common);
    job.follow_links = request.corpus.follow_links;
    collocations_options& options = request.options;
    options.inputs = inputs_of(request.inputs, request.corpus);
    take_reading_rules(request.corpus, options);
    options.text = request.text.over({});
    job.choose_device("collocations", offered_places::cpu_only);
    std::vector<std::filesystem::path> files = options.inputs;
    files.push_back(request.text.stop_word_file());
    output to = job.open_output(request.common.output, files);
    auto rows = job.rows(to, {"word", "collocate", "position", "count", "of_word", "of_collocate", "mi",
                              "log_likelihood", "log_dice", "t_score"});
    collocations_result made = collocations(options, job.ctx, [&](const collocation_row& row) {
        const std::string position = position_text(row.position);
        rows.row({row.word, row.collocate, std::string_view(position), row.counts.both, row.counts.of_word,
                  row.counts.of_collocate, row.measures.mutual_information, row.measures.log_likelihood,
                  row.measures.log_dice, row.measures.t_score});
    });
    job.messages.finish();
    rows.finish();
    to.commit();
    for (const std::string& word : made.unknown)
        job.messages.warning(fmt::format("{} is not in the vocabulary", word));
    report_reading(job.messages, made.counts, made.issues, outcome_of(made));
    job.statistics = std::move(made.statistics);
    job.write_statistics();
    return made.rows == 0 ? 1 : 0;
}

}  // namespace quern::cli
