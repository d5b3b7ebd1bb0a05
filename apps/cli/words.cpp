// SPDX-License-Identifier: Apache-2.0
// quern words
#include "quern/tasks/words.hpp"

#include <fmt/format.h>

#include <optional>

#include "commands.hpp"
#include "quern/base/error.hpp"
#include "quern/tasks/similar.hpp"
#include "session.hpp"
#include "values.hpp"

namespace quern::cli {
namespace {

struct words_request {
    common_options common;
    words_options words;
    build_options corpus;  ///< --input-format, --max-errors
    text_choice text;
    std::vector<std::string> inputs;
    std::string exported, report;

    // What a preset chooses where the user did not.
    bool thesis = false;
    std::optional<decimal> discount;
    std::optional<word_relation> relation;
    std::optional<gap_policy> gaps;
    std::optional<window_limit> window_end;
    std::optional<word_measure> measure;
};

std::uint32_t parse_count(const std::string& text, std::uint32_t least, std::uint32_t most) {
    return static_cast<std::uint32_t>(parse_integer(text, least, most));
}

void declare_counting(command_line& line, words_request& request) {
    space_question& q = request.words.question;
    line.section("What meets what");
    line.option("--window", "N", "A word meets the N words before and the N words after it; 1 to 100.",
                std::to_string(q.counting.window),
                [&](const std::string& text) { q.counting.window = parse_count(text, 1, 100); });
    line.option("--window-end", "END", "No window crosses the end of a paragraph or of a sentence.",
                "paragraph", [&](const std::string& text) {
                    request.window_end = parse_name<window_limit>(text, window_limit_names);
                });
    line.option(
        "--gaps", "POLICY",
        "What is left of a stop word or a word that is too short: close (the others close up) or keep "
        "(its place). A word outside the vocabulary always keeps its place.",
        "close",
        [&](const std::string& text) { request.gaps = parse_name<gap_policy>(text, gap_policy_names); });
    line.option("--relation", "KIND",
                "none (one relation for all places in the window) or position (one for each distance).",
                "none", [&](const std::string& text) {
                    request.relation = parse_name<word_relation>(text, word_relation_names);
                });
    line.option("--self", "RULE", "Meetings of a word with itself: skip or count.", "skip",
                [&](const std::string& text) {
                    q.counting.count_self = parse_choice<bool>(text, {{"count", true}, {"skip", false}});
                });
    line.option("--min-count", "N", "The vocabulary: words that occur at least N times …",
                std::to_string(q.min_count),
                [&](const std::string& text) { q.min_count = parse_integer(text, 1, UINT64_MAX); });
    line.option("--vocabulary", "N", "… and of these the N most frequent.", std::to_string(q.vocabulary),
                [&](const std::string& text) { q.vocabulary = parse_count(text, 2, unknown_word - 2); });
    line.section("Weights and similarity");
    line.option("--discount", "X", "Taken from the count of a triple before it is weighed; 0 to below 1.",
                "0.95", [&](const std::string& text) { request.discount = parse_decimal(text); });
    line.option("--information", "KIND",
                "Mutual information of word and context within the relation (conditional) or of word, "
                "relation and context (independent).",
                "conditional", [&](const std::string& text) {
                    q.weighing.information = parse_name<information_kind>(text, information_names);
                });
    line.option("--min-weight", "X", "Contexts that weigh more than X count.", "0",
                [&](const std::string& text) { q.weighing.min_weight = parse_number(text); });
    line.option("--columns", "F|all", "Compare words by the F most frequent contexts only.", "all",
                [&](const std::string& text) {
                    q.columns = text == "all" ? all_columns : parse_count(text, 1, all_columns - 1);
                });
    line.option("--measure", "NAME",
                "lin (what two words share of all their information), cosine (of their weights), or lsa "
                "(of vectors, by singular value decomposition).",
                "lin", [&](const std::string& text) {
                    request.measure = parse_name<word_measure>(text, word_measure_names);
                });
    line.option("--top", "K|all",
                "Neighbours of a word that are stored; all stores 20 and the scores of all pairs as well, "
                "SPACE/similarities.npy, 8 bytes each. 0 stores none, which saves most of the time: quern "
                "similar computes what it is asked.",
                std::to_string(q.top), [&](const std::string& text) {
                    q.full_matrix = text == "all";
                    if (!q.full_matrix) q.top = parse_count(text, 0, unknown_word);
                });
    line.option("--method", "NAME",
                "How words are compared: auto, or the thesis's compressed or column-reduced (needs "
                "--columns). The results are the same bits.",
                "auto", [&](const std::string& text) {
                    request.words.method = parse_name<similarity_method>(text, similarity_method_names);
                });
    line.option("--preset", "NAME",
                "thesis: --discount 0 --measure lin --relation position --gaps keep --window-end sentence, "
                "where these are not given.",
                "", [&](const std::string& text) {
                    request.thesis = parse_choice<bool>(text, {{"thesis", true}});
                });
    line.section("Vectors");
    line.option("--vectors", "D", "Store vectors of D dimensions; 1 to 4096.", "300 with lsa, else none",
                [&](const std::string& text) { q.dimensions = parse_count(text, 1, 4096); });
    line.option("--lsa-of", "MATRIX",
                "What is decomposed: mi (words by contexts) or documents (words by documents, log-entropy "
                "weights).",
                "mi", [&](const std::string& text) {
                    q.lsa_of = parse_name<reduced_matrix>(text, reduced_matrix_names);
                });
    line.option("--lsa-words", "N|all",
                "Of documents: take some, evenly spread, that hold about N words together. What does not "
                "fit in memory otherwise.",
                "all", [&](const std::string& text) {
                    q.lsa_words = text == "all" ? all_words : parse_count(text, 1, all_words - 1);
                });
    line.option("--lsa-measure", "NAME", "How lsa compares vectors: cosine or pearson.", "cosine",
                [&](const std::string& text) {
                    q.lsa_measure = parse_name<vector_measure>(text, vector_measure_names);
                });
}

void declare(command_line& line, words_request& request) {
    line.arguments(
        "CORPUS",
        "Files and folders, as for quern build, read in this order; - is standard input (JSON lines). Or one "
        "store: its texts.",
        request.inputs, true);
    line.section("Output options");
    line.option(
        "-o,--output", "SPACE", "The folder to write. An existing one is refused without --force.", "",
        [&](const std::string& value) {
            if (value == "-") throw usage_error("a space is a folder; it cannot go to standard output");
            request.words.space = value;
        },
        true);
    line.option("--export", "FILE", "Rows of word, neighbour, score as well; - is standard output.", "",
                [&](const std::string& value) { request.exported = value; });
    line.option("--report", "FILE.html",
                "One page for people: sizes, times, the most frequent words with their neighbours.", "",
                [&](const std::string& value) { request.report = value; });
    declare_counting(line, request);
    line.section("Corpus options");
    declare_corpus(line, request.corpus, corpus_forms::and_triples);
    declare_text(line, request.text);
    declare_common(line, request.common, {.rows = false, .output = false});
    line.example("quern words enwiki.xml.bz2 -o wiki.words --tokens letters --min-length 2 --stop-words en",
                 "A thesaurus of Wikipedia.");
    line.example("quern words essays/ -o essays.words --measure cosine --vectors 300 --report essays.html",
                 "Cosine instead of Lin's measure, vectors as well, and a page about it.");
    line.example("quern words parsed.tsv.gz --input-format triples -o parsed.words",
                 "From word, relation and other word of a parser: Lin's original method.");
}

space_question question_of(const words_request& request) {
    space_question q = request.words.question;
    const bool thesis = request.thesis;
    q.weighing.discount = request.discount.value_or(thesis ? decimal{0, 1} : q.weighing.discount);
    q.counting.relation = request.relation.value_or(thesis ? word_relation::position : word_relation::none);
    q.gaps = request.gaps.value_or(thesis ? gap_policy::keep : gap_policy::close);
    q.window_end = request.window_end.value_or(thesis ? window_limit::sentence : window_limit::paragraph);
    q.measure = request.measure.value_or(word_measure::lin);
    q.seed = request.common.seed;
    return q;
}

std::string outcome_of(const words_result& result, bool of_triples) {
    std::string text = result.counts.documents == 0
                           ? std::string()
                           : counted(result.counts.documents, of_triples ? "triple" : "document") + ", ";
    text +=
        fmt::format("{}, {} distinct, {} in the vocabulary; {}, {} kept as contexts",
                    counted(result.occurrences, "word"), grouped(result.distinct), grouped(result.vocabulary),
                    counted(result.meetings, "meeting"), grouped(result.entries));
    if (result.dimensions != 0) text += fmt::format("; vectors of {} dimensions", result.dimensions);
    return text;
}

}  // namespace

int run_words(const command& self, const std::vector<std::string>& arguments) {
    words_request request;
    command_line line(
        self, "CORPUS... -o SPACE [OPTION]...",
        "Finds which words are used alike: counts which words meet within a window, weighs each meeting by "
        "mutual information, and compares the rows of weights of all pairs of words (Lin 1998; Kolb 2008). "
        "Writes a space: words, their neighbours and contexts, to be asked by quern similar and quern "
        "contexts. The same corpus and options give the same bytes, whatever the threads, the memory and "
        "the device. Under its final name there is a whole space or what was there before.");
    declare(line, request);
    line.parse(arguments);

    session run(self, request.common);
    words_options& options = request.words;
    options.inputs.assign(request.inputs.begin(), request.inputs.end());
    options.input_format = request.corpus.input_format;
    options.max_errors = request.corpus.max_errors;
    options.text = request.text.over({});
    options.question = question_of(request);
    options.force = request.common.force;
    if (request.report == "-") throw usage_error("--report needs the name of a file");
    std::vector<std::filesystem::path> files = options.inputs;
    files.push_back(request.text.stop_word_file());
    if (!request.exported.empty() && options.question.top == 0) {
        throw usage_error("--export writes the neighbours that are stored, and --top 0 stores none");
    }
    run.check_destinations({{.path = options.space, .is_folder = true}, {request.exported}, {request.report}},
                           std::move(files));
    const auto open = [&](const std::string& path) {
        return path.empty() ? std::optional<output>() : run.open({path});
    };
    auto exported = open(request.exported), report = open(request.report);

    words_result result = words(options, run.run);
    run.messages.finish();
    if (exported) {
        run.stage("export", [&] {
            const word_space space = word_space::open(options.space, run.run);
            space.write_graph_tsv([&](std::string_view bytes) { exported->write(bytes); }, run.run);
            exported->commit();
        });
    }
    if (report) {
        write_word_report(
            options.space, result, [&](std::string_view bytes) { report->write(bytes); }, run.run);
        report->commit();
    }
    tell_reading(run.messages, result.counts, result.issues,
                 outcome_of(result, options.input_format == "triples"));
    auto stages = std::move(result.statistics.stages);
    stages.insert(stages.end(), run.statistics.stages.begin(), run.statistics.stages.end());
    run.statistics = std::move(result.statistics);
    run.statistics.stages = std::move(stages);
    run.write_statistics();
    return 0;
}

}  // namespace quern::cli
