// SPDX-License-Identifier: Apache-2.0
// quern complete
#include <fmt/format.h>

#include "commands.hpp"
#include "quern/tasks/search_option_table.hpp"
#include "session.hpp"
#include "values.hpp"

namespace quern::cli {

int run_complete(const command& self, const std::vector<std::string>& arguments) {
    common_options common;
    completion_options options;
    std::string path;
    std::vector<std::string> words;

    command_line line(
        self, "STORE TEXT... [OPTION]...",
        "Completes the last word of TEXT from the words of a store: all words that begin with it, those in "
        "the most documents first, then in byte order. If there are none, words whose beginning "
        "is a few typos away are written. Writes word, documents, occurrences and distance (in edits). Words "
        "are in the store's form: "
        "stems if the store stems.");
    line.argument("STORE", "A store of quern build.", path);
    line.arguments("TEXT", "What is typed; several arguments are joined by blanks.", words, true);
    line.section("Options of complete");
    line.option("k", options);
    for (const char* name : {"--top", "--limit", "-n"}) line.hint(name, "for the number of words use -k N");
    line.option("typos", options);
    declare_common(line, common, {.scratch = false});
    line.example("quern complete wiki 'water mi'", "The ten most frequent words that begin with mi.");
    line.example("quern complete wiki einst -k all --format tsv", "All of them.");
    line.parse(arguments);

    session job(self, common);
    job.choose_device("complete", offered_places::cpu_only);
    output to = job.open_output(common.output, {path});
    const auto engine = job.stage("open", [&] { return search_engine::open(path, job.ctx); });
    const std::string typed = fmt::format("{}", fmt::join(words, " "));
    const auto result = job.stage("complete", [&] { return engine.complete(typed, options, job.ctx); });
    auto rows = job.rows(to, {"word", "documents", "occurrences", "distance"});
    for (const completed_word& of : result.words)
        rows.row({std::string_view(of.word), of.documents, of.occurrences, std::uint64_t{of.distance}});
    rows.finish();
    to.commit();
    job.statistics.counts["words"] = result.total;
    job.write_statistics();
    if (!result.words.empty()) return 0;
    job.messages.error(result.beginning.empty() ? fmt::format("'{}' does not end with a word", typed)
                                                : fmt::format("no word begins with {}", result.beginning));
    return 1;
}

}  // namespace quern::cli
