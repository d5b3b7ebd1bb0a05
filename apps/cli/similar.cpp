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
    std::uint32_t top = 20;
};

/// Stands for the dash of a word to stay away from, which would be taken for an option.
constexpr char minus_mark = '\x02';

/// "-word" becomes an argument; -o, -k (also -k10), -h and what follows "--" stay as they are.
std::vector<std::string> with_minus_words(std::vector<std::string> arguments) {
    for (std::string& argument : arguments) {
        if (argument == "--") break;
        if (argument.size() < 2 || argument[0] != '-' || argument[1] == '-') continue;
        if (argument == "-o" || argument == "-k" || argument == "-h") continue;
        const bool top =
            argument[1] == 'k' && argument.find_first_not_of("0123456789", 2) == std::string::npos;
        if (!top) argument[0] = minus_mark;
    }
    return arguments;
}

void declare(command_line& line, similar_request& request) {
    line.argument("SPACE", "A folder written by quern words, or a store with a thesaurus.", request.path);
    line.arguments("WORD", "A word, or several together: near to word and +word, far from -word.",
                   request.words, false);
    line.section("Similar options");
    line.option("-k,--top", "K|all", "Neighbours to write. More than the space stores are computed.", "20",
                [&](const std::string& text) { request.top = parse_top(text); });
    line.option("--with", "WORD", "Only the score of the two words.", "",
                [&](const std::string& text) { request.with = text; });
    line.option("--pairs", "FILE",
                "Lines of two words with a tab between: writes both and their score, nan where one is "
                "unknown. - is standard input.",
                "", [&](const std::string& text) { request.pairs = text; });
    line.option("--within", "FILE", "Neighbours among the words of this list only, one a line.", "",
                [&](const std::string& text) { request.within = text; });
    declare_common(line, request.common);
    line.example("quern similar wiki.words river", "The words that are used like river.");
    line.example("quern similar wiki.words king +woman -man", "Near to king and woman, far from man.");
    line.example("quern similar wiki.words river --with stream", "The score of a pair.");
    line.example("quern similar wiki.words --pairs judged.tsv -o scored.tsv", "The scores of many.");
}

std::uint64_t answer_pairs(const word_space& space, const similar_request& request, session& run,
                           output& to) {
    const double unknown = std::numeric_limits<double>::quiet_NaN();
    const std::vector<numbered_line> lines = lines_of_file(request.pairs);
    // A word that the text options refuse is as unknown as one that the corpus lacks.
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
        const std::string_view line = text;
        const std::size_t tab = line.find('\t');
        if (tab == std::string_view::npos) {
            throw invalid_input(request.pairs, number, "no tab between two words");
        }
        const std::string_view rest = line.substr(tab + 1);
        words.emplace_back(line.substr(0, tab), rest.substr(0, rest.find('\t')));
        const auto a = find(words.back().first), b = find(words.back().second);
        is_known.push_back(a && b);
        if (a && b) known.emplace_back(*a, *b);
    }
    const auto scores = run.stage("similar", [&] { return space.scores(known, run.run); });
    auto rows = run.rows(to, {"a", "b", "score"});
    std::size_t next = 0;
    for (std::size_t i = 0; i < words.size(); ++i) {
        rows.row({words[i].first, words[i].second, is_known[i] ? scores[next++] : unknown});
    }
    rows.finish();
    if (known.size() < words.size()) {
        run.messages.info(fmt::format("{} of {} with an unknown word", grouped(words.size() - known.size()),
                                      counted(words.size(), "pair")));
    }
    run.statistics.counts["pairs"] = words.size();
    return words.size();
}

/// The words of a list that the space knows.
std::vector<std::uint32_t> known_words_of(const std::string& list, const word_space& space, session& run) {
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
        run.messages.warning(fmt::format("{}: {} not in the vocabulary", list, counted(unknown, "word")));
    }
    return ids;
}

/// Exit code 1 where a word is unknown.
std::optional<word_combination> combination_of(const similar_request& request, const word_space& space,
                                               session& run) {
    word_combination asked;
    bool all_known = true;
    for (const std::string& word : request.words) {
        const bool minus = word[0] == minus_mark || word[0] == '-';
        const bool sign = word.size() > 1 && (minus || word[0] == '+');
        const auto id = known_word(space, sign ? word.substr(1) : word, run);
        all_known &= id.has_value();
        if (id) (minus ? asked.minus : asked.plus).push_back(*id);
    }
    if (!all_known) return std::nullopt;
    return asked;
}

int answer_words(const word_space& space, const similar_request& request, session& run, output& to) {
    const auto asked = combination_of(request, space, run);
    if (!asked) return 1;
    if (!request.with.empty()) {
        if (asked->plus.size() != 1 || !asked->minus.empty()) {
            throw usage_error("--with gives the score of one word and another one");
        }
        const auto other = known_word(space, request.with, run);
        if (!other) return 1;
        const std::pair<std::uint32_t, std::uint32_t> pair[] = {{asked->plus[0], *other}};
        const double score = run.stage("similar", [&] { return space.scores(pair, run.run); })[0];
        auto rows = run.rows(to, {"word", "score"});
        rows.row({space.word(*other), score});
        rows.finish();
        return 0;
    }
    std::vector<std::uint32_t> list;
    if (!request.within.empty()) list = known_words_of(request.within, space, run);
    const auto found = run.stage("similar", [&] {
        return request.within.empty() ? space.similar(*asked, request.top, run.run)
                                      : space.similar(*asked, request.top, run.run, list);
    });
    auto rows = run.rows(to, {"word", "score"});
    for (const neighbour& n : found) rows.row({space.word(n.word), n.score});
    rows.finish();
    run.statistics.counts["neighbours"] = found.size();
    if (found.empty()) run.messages.info("no word is similar to what was asked for");
    return found.empty() ? 1 : 0;
}

}  // namespace

int run_similar(const command& self, const std::vector<std::string>& arguments) {
    similar_request request;
    command_line line(
        self, "SPACE WORD... [OPTION]...",
        "Writes the words of a space that are used like a word, most similar first: word and score. Words "
        "asked for go through the text options of the corpus. Several words together: the scores with word "
        "and +word are added up, those with -word taken away; the words asked for are left out.\n\n"
        "An unknown word ends with exit code 1, and the words of nearly the same spelling are named.");
    declare(line, request);
    line.parse(with_minus_words(arguments));
    if (request.pairs.empty() == request.words.empty()) {
        throw usage_error(request.words.empty() ? "WORD is required, or --pairs"
                                                : "words and --pairs exclude each other");
    }
    if (!request.pairs.empty() && !(request.with.empty() && request.within.empty())) {
        throw usage_error("--pairs does not go with --with and --within");
    }
    if (!request.with.empty() && !request.within.empty()) {
        throw usage_error("--with and --within exclude each other");
    }

    session run(self, request.common);
    run.choose_device("similar", offered_places::cpu_only);
    output to = run.open_output(request.common.output, {request.path, request.pairs, request.within});
    const word_space space = open_space(request.path, run);
    int code = 0;
    if (!request.pairs.empty()) {
        answer_pairs(space, request, run, to);
    } else {
        code = answer_words(space, request, run, to);
    }
    run.messages.finish();
    to.commit();
    run.write_statistics();
    return code;
}

}  // namespace quern::cli
