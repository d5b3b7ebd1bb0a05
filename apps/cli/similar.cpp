// SPDX-License-Identifier: Apache-2.0
// quern similar
#include "quern/tasks/similar.hpp"

#include <fmt/format.h>

#include <limits>
#include <optional>

#include "commands.hpp"
#include "quern/base/error.hpp"
#include "spaces.hpp"
#include "values.hpp"

namespace quern::cli {
namespace {

struct similar_request {
    common_options common;
    std::string path, with, pairs, within;
    std::vector<std::string> words;
    top_choice top;
    bool all_words = false, second_order = false;
};

/// Replaces the dash of a -word, which would be parsed as an option.
constexpr char minus_mark = '\x02';

/// "-word" becomes an argument; -o, -k (also -k10, -k=10), -h and everything after "--" stay unchanged.
std::vector<std::string> with_minus_words(std::vector<std::string> arguments) {
    for (std::string& argument : arguments) {
        if (argument == "--") break;
        if (argument.size() < 2 || argument[0] != '-' || argument[1] == '-') continue;
        if (argument == "-o" || argument == "-k" || argument == "-h") continue;
        if (argument.starts_with("-o=") || argument.starts_with("-k=")) continue;
        const bool top =
            argument[1] == 'k' && argument.find_first_not_of("0123456789", 2) == std::string::npos;
        if (!top) argument[0] = minus_mark;
    }
    return arguments;
}

void declare(command_line& line, similar_request& request) {
    line.argument("SPACE", "A folder written by quern words, or a store with a thesaurus.", request.path);
    line.arguments("WORD", "A word, or several: close to word and +word, far from -word.", request.words,
                   false);
    line.section("Similar options");
    line.option(top_option.with_help("Neighbours to write. Those beyond the stored ones are computed."),
                request.top);
    line.option("--with", "WORD", "Write only the score of the two words.", "",
                [&](const std::string& text) { request.with = text; });
    line.option("--pairs", "FILE",
                "Lines of two words separated by a tab: writes both and their score, nan if one is unknown. "
                "- is standard input.",
                "", [&](const std::string& text) { request.pairs = file_name(text); });
    line.option("--within", "FILE", "Only neighbours from this list, one word per line.", "",
                [&](const std::string& text) { request.within = file_name(text); });
    line.flag(
        "--all-words",
        "Also write stop words, such as of and the. Without it they are excluded unless --within lists them.",
        request.all_words);
    line.flag("--second-order",
              "Compare words by their stored neighbours instead of their contexts: words with the same "
              "neighbours are "
              "similar, even if they share no context.",
              request.second_order);
    declare_common(line, request.common, {.scratch = false});
    line.example("quern similar wiki.words river", "Words that are used like river.");
    line.example("quern similar wiki.words king +woman -man", "Close to king and woman, far from man.");
    line.example("quern similar wiki.words river --with stream", "The score of a pair.");
    line.example("quern similar wiki.words --pairs judged.tsv -o scored.tsv", "The scores of many pairs.");
}

std::uint64_t score_pairs(const word_space& space, const similar_request& request, session& job, output& to) {
    const double unknown = std::numeric_limits<double>::quiet_NaN();
    const std::vector<numbered_line> lines = lines_of_file(request.pairs);
    // A word that the text options refuse counts as unknown, like one that the corpus lacks.
    const auto find = [&](std::string_view typed) -> std::optional<std::uint32_t> {
        try {
            return space.find(space.spelling(typed));
        } catch (const usage_error&) {
            return std::nullopt;
        }
    };
    std::vector<std::pair<std::uint32_t, std::uint32_t>> known;
    std::vector<std::pair<std::string_view, std::string_view>> words;
    std::vector<bool> is_known;
    for (const auto& [text, number] : lines) {
        if (words.size() % 4096 == 0) {
            job.ctx.check_stop();
            job.ctx.report({"read", words.size(), lines.size(), "pairs"});
        }
        const std::string_view line = text;
        const std::size_t tab = line.find('\t');
        if (tab == std::string_view::npos) {
            throw invalid_input(request.pairs, number, "no tab between two words (expected word, tab, word)");
        }
        const std::string_view rest = line.substr(tab + 1);
        words.emplace_back(line.substr(0, tab), rest.substr(0, rest.find('\t')));
        const auto a = find(words.back().first), b = find(words.back().second);
        is_known.push_back(a && b);
        if (a && b) known.emplace_back(*a, *b);
    }
    job.ctx.report({"similar", 0, 0, "pairs"});
    const auto scores = job.stage("similar", [&] { return space.scores(known, job.ctx); });
    auto rows = job.rows(to, {"a", "b", "score"});
    std::size_t next = 0;
    for (std::size_t i = 0; i < words.size(); ++i) {
        rows.row({words[i].first, words[i].second, is_known[i] ? scores[next++] : unknown});
    }
    rows.finish();
    if (known.size() < words.size()) {
        job.messages.info(fmt::format("{} of {} contain an unknown word",
                                      grouped(words.size() - known.size()), counted(words.size(), "pair")));
    }
    job.statistics.counts["pairs"] = words.size();
    return words.size();
}

/// The words of a list that the space knows.
std::vector<std::uint32_t> known_words_of(const std::string& list, const word_space& space, session& job) {
    std::vector<std::uint32_t> ids;
    std::uint64_t unknown = 0;
    for (const numbered_line& line : lines_of_file(list)) {
        std::optional<std::uint32_t> id;
        try {
            id = space.find(space.spelling(line.text));
        } catch (const usage_error&) {
        }
        if (id) {
            ids.push_back(*id);
        } else {
            ++unknown;
        }
    }
    if (unknown != 0) {
        job.messages.warning(fmt::format("{}: {} not in the vocabulary", list, counted(unknown, "word")));
    }
    return ids;
}

/// Exit code 1 where a word is unknown.
std::optional<word_combination> combination_of(const similar_request& request, const word_space& space,
                                               session& job) {
    word_combination requested;
    bool all_known = true;
    for (const std::string& word : request.words) {
        const bool minus = word[0] == minus_mark || word[0] == '-';
        const bool sign = word.size() > 1 && (minus || word[0] == '+');
        const auto id = known_word(space, sign ? word.substr(1) : word, job);
        all_known &= id.has_value();
        if (id) (minus ? requested.minus : requested.plus).push_back(*id);
    }
    if (!all_known) return std::nullopt;
    return requested;
}

int list_neighbours(const word_space& space, const similar_request& request, session& job, output& to) {
    const auto requested = combination_of(request, space, job);
    if (!requested) return 1;
    if (!request.with.empty()) {
        if (requested->plus.size() != 1 || !requested->minus.empty()) {
            throw usage_error("--with requires exactly one WORD");
        }
        const auto other = known_word(space, request.with, job);
        if (!other) return 1;
        const std::pair<std::uint32_t, std::uint32_t> pair[] = {{requested->plus[0], *other}};
        const double score = job.stage("similar", [&] { return space.scores(pair, job.ctx); })[0];
        auto rows = job.rows(to, {"word", "score"});
        rows.row({space.word(*other), score});
        rows.finish();
        return 0;
    }
    std::vector<std::uint32_t> list;
    if (!request.within.empty()) list = known_words_of(request.within, space, job);
    const auto found = job.stage("similar", [&] {
        if (!request.within.empty()) return space.similar(*requested, request.top.top, job.ctx, list);
        return request.all_words ? space.similar(*requested, request.top.top, job.ctx)
                                 : space.similar_but_stop_words(*requested, request.top.top, job.ctx);
    });
    auto rows = job.rows(to, {"word", "score"});
    for (const neighbour& n : found) rows.row({space.word(n.word), n.score});
    rows.finish();
    job.statistics.counts["neighbours"] = found.size();
    if (found.empty()) {
        const bool aside = !request.all_words && request.within.empty();
        job.messages.info(fmt::format("no similar word found{}",
                                      aside ? " except stop words; --all-words writes them" : ""));
    }
    return found.empty() ? 1 : 0;
}

}  // namespace

int run_similar(const command& self, const std::vector<std::string>& arguments) {
    similar_request request;
    command_line line(
        self, "SPACE WORD... [OPTION]...",
        "Writes the words of a space that are used like the given word, most similar first: word and score. "
        "The text options of the corpus are applied to the given words. With several words, the scores with "
        "word and +word are added and those with -word subtracted; the given words are excluded from the "
        "result.\n\nAn unknown word ends with exit code 1 and suggestions of similar spelling.");
    declare(line, request);
    line.parse(with_minus_words(arguments));
    if (request.pairs.empty() == request.words.empty()) {
        throw usage_error(request.words.empty() ? "WORD or --pairs is required"
                                                : "words cannot be combined with --pairs");
    }
    if (!request.pairs.empty() && !(request.with.empty() && request.within.empty())) {
        throw usage_error("--pairs cannot be combined with --with or --within");
    }
    if (!request.with.empty() && !request.within.empty()) {
        throw usage_error("--with cannot be combined with --within");
    }

    const bool lists = request.pairs.empty() && request.with.empty();
    for (const char* name : {"--top", "--all-words"})
        line.require_used(name, lists, "applies to a list of similar words, not to scores of pairs");
    line.require_used("--all-words", request.within.empty(),
                      "cannot be combined with --within, which names the words");

    session job(self, request.common);
    job.choose_device("similar", offered_places::cpu_only);
    output to = job.open_output(request.common.output, {request.path, request.pairs, request.within});
    word_space space = open_space(request.path, job);
    if (request.second_order) job.stage("second order", [&] { space.compare_by_neighbours(job.ctx); });
    int code = 0;
    if (!request.pairs.empty()) {
        score_pairs(space, request, job, to);
    } else {
        code = list_neighbours(space, request, job, to);
    }
    job.messages.finish();
    to.commit();
    job.write_statistics();
    return code;
}

}  // namespace quern::cli
