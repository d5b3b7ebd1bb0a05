// SPDX-License-Identifier: Apache-2.0
// quern topk
#include <fmt/format.h>

#include "commands.hpp"
#include "quern/base/error.hpp"
#include "quern/ops/rank_aggregation_option_table.hpp"
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
    line.option("top", options);
    line.option("aggregate", options);
    line.option("--weight", "W,...", "A weight for each list, in the order of the lists.", "1 each",
                [&](const std::string& text) { request.requested.weights = parse_numbers(text); });
    line.option("--floor", "F,...",
                "Score of an object that a list lacks; one for each list, or one for all.", "0",
                [&](const std::string& text) { request.requested.floors = parse_numbers(text); });
    line.option("constant", options);
    line.option("method", options);
    line.option("stride", options);
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
