// SPDX-License-Identifier: Apache-2.0
// quern topk
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "commands.hpp"
#include "quern/base/error.hpp"
#include "quern/tasks/top_k.hpp"
#include "session.hpp"
#include "values.hpp"

namespace quern::cli {
namespace {

struct request {
    common_options common;
    std::vector<std::string> lists;
    top_k_request asked;
};

void declare(command_line& line, request& request) {
    top_k_options& options = request.asked.options;
    line.arguments("LIST",
                   "Lines of an id, a tab and a score, best first; plain or compressed; - is standard input.",
                   request.lists, true);
    line.section("Top-k options");
    line.option("-k,--top", "K|all", "Objects to write.", "10", [&](const std::string& text) {
        constexpr std::uint32_t most = std::numeric_limits<std::uint32_t>::max();
        options.k = text == "all" ? most : static_cast<std::uint32_t>(parse_integer(text, 1, most));
    });
    line.option(
        "--aggregate", "RULE",
        "sum, min, max, product, mean or rrf (reciprocal ranks), of each list's score times its weight.",
        "sum",
        [&](const std::string& text) { options.score = parse_name<aggregate>(text, aggregate_names); });
    line.option("--weight", "W,...", "A weight for each list, in their order.", "1 each",
                [&](const std::string& text) { request.asked.weights = parse_numbers(text); });
    line.option("--floor", "F,...",
                "What an object counts that is not in a list; for each list, or one for all.", "0",
                [&](const std::string& text) { request.asked.floors = parse_numbers(text); });
    line.option("--constant", "C", "Of reciprocal ranks: 1 / (C + rank).", "60",
                [&](const std::string& text) { options.constant = parse_number(text); });
    line.option("--method", "NAME",
                "auto, nra, sc, lara or segmented; on a GPU auto and segmented. The answers are the same.",
                "auto", [&](const std::string& text) {
                    options.method = parse_name<top_k_method>(text, top_k_method_names);
                });
    line.option(
        "--stride", "N", "Levels that segmented reads at a time.", "100", [&](const std::string& text) {
            options.stride =
                static_cast<std::uint32_t>(parse_integer(text, 1, std::numeric_limits<std::uint32_t>::max()));
        });
    declare_common(line, request.common);
    line.example("quern topk text.tsv links.tsv --weight 1,0.2 -k 100", "The best of a weighted sum.");
    line.example("quern topk a.tsv b.tsv --aggregate rrf --stats depths.json",
                 "How deep the lists were read.");
}

}  // namespace

int run_topk(const command& self, const std::vector<std::string>& arguments) {
    request request;
    command_line line(
        self, "LIST... [OPTION]...",
        "Writes the objects with the best scores over several ranked lists: id and score, reading as "
        "little of the lists as the answer needs. Scores are exact, equal ones stand by rising id, and "
        "every method gives the same answer.");
    declare(line, request);
    line.parse(arguments);
    request.asked.lists.assign(request.lists.begin(), request.lists.end());

    session run(self, request.common);
    output to = run.open_output(request.common.output, request.asked.lists);
    const top_k_answer found = top_k_of_files(request.asked, run.run);
    run.statistics = found.statistics;
    auto rows = run.rows(to, {"id", "score"});
    for (const top_object& object : found.best) rows.row({object.id, object.score});
    run.messages.finish();
    rows.finish();
    to.commit();
    for (std::size_t i = 0; i < found.depths.size(); ++i) {
        run.messages.info(fmt::format("{}: read to {} of {}", request.lists[i], grouped(found.depths[i]),
                                      counted(found.lengths[i], "line")));
    }
    run.write_statistics();
    return found.best.empty() ? 1 : 0;
}

}  // namespace quern::cli
