// SPDX-License-Identifier: Apache-2.0
// quern contexts
#include <fmt/format.h>

#include "commands.hpp"
#include "quern/base/error.hpp"
#include "quern/tasks/similar.hpp"
#include "spaces.hpp"
#include "values.hpp"

namespace quern::cli {

int run_contexts(const command& self, const std::vector<std::string>& arguments) {
    common_options common;
    std::string path;
    std::vector<std::string> words;
    std::uint32_t top = 20;
    command_line line(
        self, "SPACE WORD [WORD] [OPTION]...",
        "Writes the contexts that a word has more often than by chance, heaviest first: relation, word, "
        "weight (mutual information, in natural units). The relation is * where all places in the window "
        "are one, a distance such as -1 or +2 with --relation position, or the parser's. With two words: "
        "the contexts they share, with both weights, by what each adds to their score; so that one sees "
        "why they are similar.\n\n"
        "An unknown word ends with exit code 1, and the words of nearly the same spelling are named.");
    line.argument("SPACE", "A folder written by quern words, or a store with a thesaurus.", path);
    line.arguments("WORD", "One word, or two.", words, true);
    line.section("Contexts options");
    line.option("-k,--top", "K|all", "Contexts to write.", "20",
                [&](const std::string& text) { top = parse_top(text); });
    declare_common(line, common);
    line.example("quern contexts wiki.words river", "What stands near river.");
    line.example("quern contexts wiki.words river stream", "What stands near both.");
    line.parse(arguments);
    if (words.size() > 2) throw usage_error("contexts are those of one word or of two");

    session run(self, common);
    run.choose_device("contexts", offered_places::cpu_only);
    output to = run.open_output(common.output, {path});
    const word_space space = open_space(path, run);
    std::vector<std::uint32_t> ids;
    for (const std::string& word : words) {
        if (const auto id = known_word(space, word, run)) ids.push_back(*id);
    }
    if (ids.size() < words.size()) return 1;
    const bool two = ids.size() == 2;
    const auto found = run.stage(
        "contexts", [&] { return two ? space.contexts(ids[0], ids[1], top) : space.contexts(ids[0], top); });
    std::vector<std::string> columns{"relation", "word", "weight"};
    if (two) columns = {"relation", "word", "weight_of_first", "weight_of_second"};
    auto rows = run.rows(to, columns);
    for (const shared_context& c : found) {
        const std::string relation = space.relation(c.relation);
        std::vector<cell> row{std::string_view(relation), space.word(c.word), c.first};
        if (two) row.emplace_back(c.second);
        rows.row(row);
    }
    rows.finish();
    to.commit();
    if (found.empty()) {
        run.messages.info(two ? fmt::format("{} and {} share no context", words[0], words[1])
                              : fmt::format("{} has no contexts", words[0]));
    }
    run.statistics.counts["contexts"] = found.size();
    run.write_statistics();
    return found.empty() ? 1 : 0;
}

}  // namespace quern::cli
