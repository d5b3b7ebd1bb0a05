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

    // Options that a preset sets unless the user gave them.
    bool thesis = false;
    std::optional<decimal> discount;
    std::optional<word_relation> relation;
    std::optional<gap_policy> gaps;
    std::optional<window_limit> window_end;
    std::optional<word_measure> measure;
};

std::uint32_t parse_count(const std::string& text, std::uint32_t min, std::uint32_t max) {
    return static_cast<std::uint32_t>(parse_integer(text, min, max));
}

void declare_counting(command_line& line, words_request& request) {
    space_params& q = request.words.params;
    line.section("Co-occurrences");
    line.option("--window", "N",
                "A word co-occurs with the N words before and the N words after it; 1 to 100.",
                std::to_string(q.counting.window),
                [&](const std::string& text) { q.counting.window = parse_count(text, 1, 100); });
    line.option("--window-end", "END", "Windows end at the end of a paragraph or of a sentence.", "paragraph",
                [&](const std::string& text) {
                    request.window_end = parse_name<window_limit>(text, window_limit_names);
                });
    line.option("--gaps", "POLICY",
                "How to treat a removed stop word or short word: close (its neighbours become adjacent) or "
                "keep (its position stays empty). A word outside the vocabulary always keeps its position.",
                "close", [&](const std::string& text) {
                    request.gaps = parse_name<gap_policy>(text, gap_policy_names);
                });
    line.option("--relation", "KIND",
                "none (one relation for all positions in the window) or position (one for each distance).",
                "none", [&](const std::string& text) {
                    request.relation = parse_name<word_relation>(text, word_relation_names);
                });
    line.option("--self", "RULE", "Co-occurrences of a word with itself: skip or count.", "skip",
                [&](const std::string& text) {
                    q.counting.count_self = parse_choice<bool>(text, {{"count", true}, {"skip", false}});
                });
    line.option("--min-count", "N", "Vocabulary: words that occur at least N times …",
                std::to_string(q.min_count),
                [&](const std::string& text) { q.min_count = parse_integer(text, 1, UINT64_MAX); });
    line.option("--vocabulary", "N", "… and of these the N most frequent ones.", std::to_string(q.vocabulary),
                [&](const std::string& text) { q.vocabulary = parse_count(text, 2, unknown_word - 2); });
    line.section("Weights and similarity");
    line.option("--discount", "X",
                "Subtracted from the count of a triple before weighting; from 0 to below 1.", "0.95",
                [&](const std::string& text) { request.discount = parse_decimal(text); });
    line.option("--information", "KIND",
                "Pointwise mutual information of word and context within the relation (conditional) or of "
                "word, relation and context (independent).",
                "conditional", [&](const std::string& text) {
                    q.pmi.information = parse_name<pmi_kind>(text, pmi_kind_names);
                });
    line.option("--min-weight", "X", "Keep only contexts with a weight above X.", "0",
                [&](const std::string& text) { q.pmi.min_weight = parse_number(text); });
    line.option("--columns", "F|all", "Compare words by the F most frequent contexts only.", "all",
                [&](const std::string& text) {
                    q.columns = text == "all" ? all_columns : parse_count(text, 1, all_columns - 1);
                });
    line.option("--measure", "NAME",
                "lin (the share of the two words' information that they have in common), cosine (of their "
                "weights), or lsa (of vectors from a singular value decomposition).",
                "lin", [&](const std::string& text) {
                    request.measure = parse_name<word_measure>(text, word_measure_names);
                });
    line.option("--top", "K|all",
                "Neighbours to store per word; all stores 20 and also the scores of all pairs, "
                "SPACE/similarities.npy, 8 bytes each. 0 stores none and saves most of the time: quern "
                "similar computes the requested ones.",
                std::to_string(q.top), [&](const std::string& text) {
                    q.full_matrix = text == "all";
                    if (!q.full_matrix) q.top = parse_count(text, 0, unknown_word);
                });
    line.option("--method", "NAME",
                "How to compare words: auto, or the thesis's compressed or column-reduced (requires "
                "--columns). The results are bit-identical.",
                "auto", [&](const std::string& text) {
                    request.words.method = parse_name<similarity_method>(text, similarity_method_names);
                });
    line.option("--preset", "NAME",
                "thesis: --discount 0 --measure lin --relation position --gaps keep --window-end sentence, "
                "unless given.",
                "", [&](const std::string& text) {
                    request.thesis = parse_choice<bool>(text, {{"thesis", true}});
                });
    line.section("Vectors");
    line.option("--vectors", "D", "Store vectors of D dimensions; 1 to 4096.", "300 with lsa, else none",
                [&](const std::string& text) { q.dimensions = parse_count(text, 1, 4096); });
    line.option(
        "--lsa-of", "MATRIX",
        "Matrix to decompose: mi (words by contexts) or documents (words by documents, log-entropy weights).",
        "mi",
        [&](const std::string& text) { q.lsa_of = parse_name<reduced_matrix>(text, reduced_matrix_names); });
    line.option("--lsa-words", "N|all",
                "Use a sample of documents, evenly spread, with about N words in total. For corpora that "
                "would not fit in memory.",
                "all", [&](const std::string& text) {
                    q.lsa_words = text == "all" ? all_words : parse_count(text, 1, all_words - 1);
                });
    line.option("--lsa-measure", "NAME", "How lsa compares vectors: cosine or pearson.", "cosine",
                [&](const std::string& text) {
                    q.lsa_measure = parse_name<vector_measure>(text, vector_measure_names);
                });
}

void declare(command_line& line, words_request& request) {
    line.arguments("CORPUS",
                   "Files and folders, as for quern build, read in this order; - is standard input (JSON "
                   "lines). Or one store, whose texts are read.",
                   request.inputs, true);
    line.section("Output options");
    line.option(
        "-o,--output", "SPACE", "The folder to write. Replaces an existing one only with --force.", "",
        [&](const std::string& value) {
            if (value == "-")
                throw usage_error("a space cannot go to standard output (expected the name of a folder)");
            request.words.space = file_name(value);
        },
        true);
    line.option("--export", "FILE", "Also write rows of word, neighbour, score; - is standard output.", "",
                [&](const std::string& value) { request.exported = output_name(value); });
    line.option("--report", "FILE.html",
                "Write an HTML page: sizes, times, the most frequent words with their neighbours.", "",
                [&](const std::string& value) { request.report = file_name(value); });
    declare_counting(line, request);
    line.section("Corpus options");
    declare_corpus(line, request.corpus, corpus_forms::and_triples);
    declare_text(line, request.text);
    declare_common(line, request.common, {.rows = false, .output = false, .gpu = true, .seed = true});
    line.example("quern words enwiki.xml.bz2 -o wiki.words --tokens letters --min-length 2 --stop-words en",
                 "A thesaurus of Wikipedia.");
    line.example("quern words essays/ -o essays.words --measure cosine --vectors 300 --report essays.html",
                 "Cosine instead of Lin's measure, with vectors and a report.");
    line.example("quern words parsed.tsv.gz --input-format triples -o parsed.words",
                 "From a parser's triples of word, relation and other word: Lin's original method.");
}

space_params params_of(const words_request& request) {
    space_params q = request.words.params;
    const bool thesis = request.thesis;
    q.pmi.discount = request.discount.value_or(thesis ? decimal{0, 1} : q.pmi.discount);
    q.counting.relation = request.relation.value_or(thesis ? word_relation::position : word_relation::none);
    q.gaps = request.gaps.value_or(thesis ? gap_policy::keep : gap_policy::close);
    q.window_end = request.window_end.value_or(thesis ? window_limit::sentence : window_limit::paragraph);
    q.measure = request.measure.value_or(word_measure::lin);
    q.seed = request.common.seed;
    return q;
}

/// Rejects options of vectors without effect.
void refuse_idle_options(command_line& line, const space_params& q) {
    const bool by_vectors = q.measure == word_measure::lsa, has_vectors = by_vectors || q.dimensions != 0;
    line.require_used("--lsa-of", has_vectors, "requires --measure lsa or --vectors");
    line.require_used("--lsa-words", has_vectors && q.lsa_of == reduced_matrix::documents,
                      "requires --lsa-of documents");
    line.require_used("--lsa-measure", by_vectors, "requires --measure lsa");
}

std::string outcome_of(const words_result& result, bool of_triples) {
    std::string text = result.counts.documents == 0
                           ? std::string()
                           : counted(result.counts.documents, of_triples ? "triple" : "document") + ", ";
    text +=
        fmt::format("{}, {} distinct, {} in the vocabulary; {}, {} kept as contexts",
                    counted(result.occurrences, "word"), grouped(result.distinct), grouped(result.vocabulary),
                    counted(result.cooccurrences, "co-occurrence"), grouped(result.entries));
    if (result.dimensions != 0) text += fmt::format("; vectors of {} dimensions", result.dimensions);
    return text;
}

}  // namespace

int run_words(const command& self, const std::vector<std::string>& arguments) {
    words_request request;
    command_line line(self, "CORPUS... -o SPACE [OPTION]...",
                      "Finds words that are used alike: counts which words co-occur within a window, weights "
                      "each co-occurrence by its pointwise mutual information, and compares the weight "
                      "vectors of all pairs of words (Lin 1998; Kolb 2008). Writes a word space: words, "
                      "their neighbours and contexts, for quern similar and quern contexts. The same corpus "
                      "and options give the same bytes for any number of threads, any memory budget and any "
                      "device. The space appears complete or not at all; an earlier one stays until then.");
    declare(line, request);
    line.parse(arguments);

    session job(self, request.common);
    job.follow_links = request.corpus.follow_links;
    words_options& options = request.words;
    options.inputs.assign(request.inputs.begin(), request.inputs.end());
    options.input_format = request.corpus.input_format;
    options.follow_links = request.corpus.follow_links;
    options.max_errors = request.corpus.max_errors;
    options.ids = request.corpus.ids;
    options.text = request.text.over({});
    options.params = params_of(request);
    refuse_idle_options(line, options.params);
    options.force = request.common.force;
    std::vector<std::filesystem::path> files = options.inputs;
    files.push_back(request.text.stop_word_file());
    if (!request.exported.empty() && options.params.top == 0) {
        throw usage_error("--export cannot be combined with --top 0, which stores no neighbours");
    }
    const destination rows_file{request.exported}, page = report_page(request.report);
    job.check_destinations({{.path = options.space, .is_folder = true}, rows_file, page}, std::move(files));
    const auto open = [&](const destination& to) {
        return to.path.empty() ? std::optional<output>() : job.open(to);
    };
    auto exported = open(rows_file), report = open(page);

    words_result result = words(options, job.ctx);
    job.messages.finish();
    if (exported) {
        job.stage("export", [&] {
            const word_space space = word_space::open(options.space, job.ctx);
            space.write_graph_tsv([&](std::string_view bytes) { exported->write(bytes); }, job.ctx);
        });
    }
    if (report) {
        write_word_report(
            options.space, result, [&](std::string_view bytes) { report->write(bytes); }, job.ctx);
    }
    output* const all[] = {exported ? &*exported : nullptr, report ? &*report : nullptr};
    output::commit_together(all);
    report_reading(job.messages, result.counts, result.issues,
                   outcome_of(result, options.input_format == "triples"));
    auto stages = std::move(result.statistics.stages);
    stages.insert(stages.end(), job.statistics.stages.begin(), job.statistics.stages.end());
    job.statistics = std::move(result.statistics);
    job.statistics.stages = std::move(stages);
    job.write_statistics();
    return 0;
}

}  // namespace quern::cli
