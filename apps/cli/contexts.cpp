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
    top_choice top;
    command_line line(
        self, "SPACE WORD [WORD] [OPTION]...",
        "Writes the contexts in which a word occurs more often than by chance, highest weight first: "
        "relation, word, weight (pointwise mutual information, in nats). The relation is * if all positions "
        "in the window are one relation, a distance such as -1 or +2 with --relation position, or the "
        "parser's relation. With two words: the contexts they share, with both weights, ordered by their "
        "contribution to the score, which shows why the words are similar.\n\nAn unknown word ends with exit "
        "code 1 and suggestions of similar spelling.");
    line.argument("SPACE", "A folder written by quern words, or a store with a thesaurus.", path);
    line.arguments("WORD", "One or two words.", words, true);
    line.section("Contexts options");
    line.option(top_option.with_help("Contexts to write."), top);
    declare_common(line, common, {.scratch = false});
    line.example("quern contexts wiki.words river", "The contexts of river.");
    line.example("quern contexts wiki.words river stream", "The contexts that both share.");
    line.parse(arguments);
    if (words.size() > 2) throw usage_error("too many words (expected one or two)");

    session job(self, common);
    job.choose_device("contexts", offered_places::cpu_only);
    output to = job.open_output(common.output, {path});
    const word_space space = open_space(path, job);
    std::vector<std::uint32_t> ids;
    for (const std::string& word : words) {
        if (const auto id = known_word(space, word, job)) ids.push_back(*id);
    }
    if (ids.size() < words.size()) return 1;
    const bool two = ids.size() == 2;
    const auto found = job.stage("contexts", [&] {
        return two ? space.contexts(ids[0], ids[1], top.top) : space.contexts(ids[0], top.top);
    });
    std::vector<std::string> columns{"relation", "word", "weight"};
    if (two) columns = {"relation", "word", "weight_of_first", "weight_of_second"};
    auto rows = job.rows(to, columns);
    for (const shared_context& c : found) {
        const std::string relation = space.relation(c.relation);
        std::vector<cell> row{std::string_view(relation), space.word(c.word), c.first};
        if (two) row.emplace_back(c.second);
        rows.row(row);
    }
    rows.finish();
    to.commit();
    if (found.empty()) {
        job.messages.info(two ? fmt::format("{} and {} share no context", words[0], words[1])
                              : fmt::format("{} has no contexts", words[0]));
    }
    job.statistics.counts["contexts"] = found.size();
    job.write_statistics();
    return found.empty() ? 1 : 0;
}

}  // namespace quern::cli
