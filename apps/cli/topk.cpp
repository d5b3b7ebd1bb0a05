// SPDX-License-Identifier: Apache-2.0
// quern topk
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "commands.hpp"
#include "quern/base/error.hpp"
#include "quern/tasks/rank_aggregation.hpp"
#include "session.hpp"
#include "values.hpp"

namespace quern::cli {
namespace {

struct request {
    common_options common;
    std::vector<std::string> lists;
    file_aggregation_request requested;
};

void declare(command_line& line, request& request) {
    aggregation_options& options = request.requested.options;
    line.arguments("LIST",
                   "Lines of an id, a tab and a score, best first; plain or compressed; - is standard input.",
                   request.lists, true);
    line.section("Top-k options");
    line.option("-k,--top", "K|all", "Objects to write.", "10", [&](const std::string& text) {
        constexpr std::uint32_t max = std::numeric_limits<std::uint32_t>::max();
        options.k = text == "all" ? max : static_cast<std::uint32_t>(parse_integer(text, 1, max));
    });
    line.option(
        "--aggregate", "RULE",
        "sum, min, max, product, mean or rrf (reciprocal ranks) of the weighted scores.", "sum",
        [&](const std::string& text) { options.score = parse_name<aggregate>(text, aggregate_names); });
    line.option("--weight", "W,...", "A weight for each list, in the order of the lists.", "1 each",
                [&](const std::string& text) { request.requested.weights = parse_numbers(text); });
    line.option("--floor", "F,...",
                "Score of an object that a list lacks; one for each list, or one for all.", "0",
                [&](const std::string& text) { request.requested.floors = parse_numbers(text); });
    line.option("--constant", "C", "Constant of reciprocal ranks: 1 / (C + rank).", "60",
                [&](const std::string& text) { options.constant = parse_number(text); });
    line.option("--method", "NAME",
                "auto, nra, sc, lara or segmented; on a GPU auto or segmented. The results are the same.",
                "auto", [&](const std::string& text) {
                    options.method = parse_name<aggregation_method>(text, aggregation_method_names);
                });
    line.option("--stride", "N", "segmented: levels to read at a time.", "100", [&](const std::string& text) {
        options.stride =
            static_cast<std::uint32_t>(parse_integer(text, 1, std::numeric_limits<std::uint32_t>::max()));
    });
    declare_common(line, request.common, {.gpu = true, .scratch = false});
    line.example("quern topk text.tsv links.tsv --weight 1,0.2 -k 100", "The best of a weighted sum.");
    line.example("quern topk a.tsv b.tsv --aggregate rrf --stats depths.json",
                 "The record shows how deep the lists were read.");
}

}  // namespace

int run_topk(const command& self, const std::vector<std::string>& arguments) {
    request request;
    command_line line(self, "LIST... [OPTION]...",
                      "Writes the objects with the best scores over several ranked lists: id and score. It "
                      "reads the lists only as far as the result requires. Scores are exact, equal ones are "
                      "ordered by ascending id, and every method gives the same result.");
    declare(line, request);
    line.parse(arguments);
    const aggregation_options& options = request.requested.options;
    line.require_used("--constant", options.score == aggregate::rrf, "requires --aggregate rrf");
    line.require_used("--stride", options.method == aggregation_method::segmented,
                      "requires --method segmented");
    request.requested.lists.assign(request.lists.begin(), request.lists.end());

    session job(self, request.common);
    output to = job.open_output(request.common.output, request.requested.lists);
    const file_aggregation_result found = top_k_of_files(request.requested, job.ctx);
    job.statistics = found.statistics;
    auto rows = job.rows(to, {"id", "score"});
    for (const top_object& object : found.best) rows.row({object.id, object.score});
    job.messages.finish();
    rows.finish();
    to.commit();
    for (std::size_t i = 0; i < found.depths.size(); ++i) {
        job.messages.info(fmt::format("{}: read {} of {}", request.lists[i], grouped(found.depths[i]),
                                      counted(found.lengths[i], "line")));
    }
    job.write_statistics();
    return found.best.empty() ? 1 : 0;
}

}  // namespace quern::cli
