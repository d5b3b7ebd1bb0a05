// SPDX-License-Identifier: Apache-2.0
// quern pagerank
#include <fmt/format.h>

#include "cluster.hpp"
#include "commands.hpp"
#include "quern/base/error.hpp"
#include "quern/tasks/link_rank_option_table.hpp"
#include "quern/tasks/rank_tasks.hpp"
#include "session.hpp"
#include "values.hpp"

namespace quern::cli {
namespace {

struct rank_request {
    common_options common;
    link_rank_options rank;
    std::string graph;
    cluster_options cluster;
};

void declare(command_line& line, rank_request& request) {
    page_rank_options& rank = request.rank.rank;
    line.argument("GRAPH",
                  "A graph: an edge list (source and target, separated by tabs, blanks or a comma; # and % "
                  "begin comments) or Matrix Market, plain or compressed; - is standard input. Or a store: "
                  "the links between its documents.",
                  request.graph);
    line.section("Ranks");
    line.option("method", request.rank);
    line.option("damping", rank);
    line.option("tolerance", rank);
    line.option("max_iterations", rank);
    line.option("dangling", rank);
    line.option("--personalize", "FILE",
                "Teleport to these nodes only: lines of an id, or of an id, a tab and a weight. An id that "
                "is not a node is an error.",
                "", [&](const std::string& text) { request.rank.preference = file_name(text); });
    line.option("--warm", "FILE",
                "Start from these ranks (id, tab, rank: an earlier result). Nodes without a line start at 0; "
                "lines of ids that the graph lacks are ignored.",
                "", [&](const std::string& text) { request.rank.start = file_name(text); });
    line.option("weighted", request.rank);
    line.option("storage", rank);
    line.option("precision", rank);
    line.option("input_format", request.rank);
    declare_common(line, request.common, {.gpu = true, .scratch = false});
    declare_cluster(line, request.cluster);
    for (const char* top : {"-k", "--top"})
        line.hint(top, "pagerank writes all nodes; for the first K use | head -n K");
    line.example("quern pagerank web.txt.zst -o ranks.tsv", "The nodes of a graph, most important first.");
    line.example("quern pagerank wiki --format table | head", "The documents of a store.");
    line.example("quern pagerank web.txt --personalize seeds.tsv --dangling preference",
                 "Importance relative to a few nodes.");
}

}  // namespace

int run_pagerank(const command& self, const std::vector<std::string>& arguments) {
    rank_request request;
    command_line line(
        self, "GRAPH|STORE [OPTION]...",
        "Writes the nodes of a graph by importance: id and rank, highest first, ties by id (as numbers if "
        "all ids are integers). Each line of an edge list is one link: repeats count, and self-links are "
        "kept. --method hits writes id, authority and hub.\n\nRanks are summed in integers: the same bits "
        "for any order of the lines, any number of threads and any device.");
    declare(line, request);
    line.parse(arguments);
    link_rank_options& requested = request.rank;
    requested.graph = request.graph;
    const bool hits = requested.method == rank_method::hits;
    for (const char* name :
         {"--damping", "--dangling", "--personalize", "--warm", "--storage", "--precision"}) {
        if (hits && line.given(name))
            throw usage_error(fmt::format("{} cannot be combined with --method hits", name));
    }
    if (requested.rank.precision == value_precision::f32 && requested.rank.storage == rank_storage::automatic)
        throw usage_error(
            "--precision f32 has no effect on --storage auto, which counts in integers (expected --storage "
            "coo, csr, ell, brc, brcp or brcp-paper)");

    session job(self, request.common);
    if (request.cluster.is_task())
        return run_step_of_task(request.cluster, job, [&](const task_file& task, task_results& results) {
            run_rank_task(requested, task, results, job.ctx);
        });
    const std::vector<std::filesystem::path> inputs{requested.graph, requested.preference, requested.start};
    if (request.cluster.is_used()) {
        job.check_destinations({{request.common.output}}, inputs);
        const auto plan = [&](unsigned shards) { return plan_rank_links(requested, shards, job.ctx); };
        if (!distribute(self, line, request.cluster, job, plan)) return 0;
    }
    output to = job.open_output(request.common.output, inputs);
    auto rows = hits ? job.rows(to, {"id", "authority", "hub"}) : job.rows(to, {"id", "rank"});
    const auto write = [&](const ranked_node& node) {
        if (hits) {
            rows.row({node.id, node.rank, node.hub});
        } else {
            rows.row({node.id, node.rank});
        }
    };
    const link_rank_result found = request.cluster.is_used()
                                       ? ranks_of_job(requested, request.cluster.share, job.ctx, write)
                                       : rank_links(requested, job.ctx, write);
    job.statistics = found.statistics;
    rows.finish();
    job.messages.finish();
    to.commit();

    const std::string size =
        fmt::format("{}, {}", counted(found.nodes, "node"), counted(found.links, "link"));
    const std::string steps =
        fmt::format("{}, last change {:.3g}", counted(found.iterations, "iteration"), found.change);
    job.messages.info(hits ? fmt::format("{}: {}", size, steps)
                           : fmt::format("{}: {}; Σ |error| at most {:.3g}", size, steps, found.error_bound));
    if (found.unknown_starts != 0) {
        job.messages.warning(fmt::format("{}: {} not in the graph", requested.start.string(),
                                         counted(found.unknown_starts, "id")));
    }
    if (!found.converged) {
        // Ended before the maximum: the ranks have reached their full precision.
        const bool stuck = found.iterations < requested.rank.max_iterations;
        job.messages.warning(fmt::format(
            "not converged after {}: {} {:.3g}, --tolerance is {:g}", counted(found.iterations, "iteration"),
            stuck ? "rounding alone changes the ranks by" : "the last change was", found.change,
            requested.rank.tolerance));
    }
    job.write_statistics();
    return 0;
}

}  // namespace quern::cli
