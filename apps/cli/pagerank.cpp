// SPDX-License-Identifier: Apache-2.0
// quern pagerank
#include <fmt/format.h>

#include "commands.hpp"
#include "quern/base/error.hpp"
#include "quern/tasks/link_rank.hpp"
#include "session.hpp"
#include "values.hpp"

namespace quern::cli {
namespace {

struct rank_request {
    common_options common;
    link_rank_options rank;
    std::string graph;
    std::vector<std::string_view> only_pagerank;  ///< given options that hits does not support
};

void declare(command_line& line, rank_request& request) {
    page_rank_options& rank = request.rank.rank;
    const auto pagerank_only = [&](std::string_view name) { request.only_pagerank.push_back(name); };
    line.argument("GRAPH",
                  "A graph: an edge list (source and target, separated by tabs, blanks or a comma; # and % "
                  "begin comments) or Matrix Market, plain or compressed; - is standard input. Or a store: "
                  "the links between its documents.",
                  request.graph);
    line.section("Ranks");
    line.option("--method", "NAME", "pagerank, or hits (authorities and hubs).", "pagerank",
                [&](const std::string& text) {
                    request.rank.method = parse_name<rank_method>(text, rank_method_names);
                });
    line.option(
        "--damping", "X", "Share of rank that follows links; from 0 to below 1.", "0.85",
        [&, pagerank_only](const std::string& text) {
            pagerank_only("--damping");
            rank.damping = parse_number(text);
            if (!(rank.damping >= 0 && rank.damping < 1))
                throw usage_error("'" + text + "' is out of range (expected a number from 0 to below 1)");
        });
    line.option("--tolerance", "X",
                "Stop when a step changes the ranks, whose sum is 1, by less than X in total. The error is "
                "then at most damping/(1 - damping) times the change; it is reported.",
                "1e-5", [&](const std::string& text) {
                    rank.tolerance = parse_number(text);
                    if (!(rank.tolerance > 0))
                        throw usage_error("'" + text + "' is out of range (expected a number above 0)");
                });
    line.option("--max-iterations", "N",
                "Maximum number of steps. Ranks that have not converged are written with a warning.",
                std::to_string(rank.max_iterations), [&](const std::string& text) {
                    rank.max_iterations = static_cast<std::uint32_t>(parse_integer(text, 1, 0xffffffff));
                });
    line.option("--dangling", "RULE",
                "Where the rank of nodes without outgoing links goes: uniform (to all nodes), preference (to "
                "the nodes of --personalize) or none (it is lost, and the sum is below 1).",
                "uniform", [&, pagerank_only](const std::string& text) {
                    pagerank_only("--dangling");
                    rank.dangling = parse_name<dangling_rule>(text, dangling_rule_names);
                });
    line.option("--personalize", "FILE",
                "Teleport to these nodes only: lines of an id, or of an id, a tab and a weight. An id that "
                "is not a node is an error.",
                "", [&, pagerank_only](const std::string& text) {
                    pagerank_only("--personalize");
                    request.rank.preference = text;
                });
    line.option("--warm", "FILE",
                "Start from these ranks (id, tab, rank: an earlier result). Missing nodes start at 0; ids "
                "that are no longer nodes are ignored.",
                "", [&, pagerank_only](const std::string& text) {
                    pagerank_only("--warm");
                    request.rank.start = text;
                });
    line.flag("--weighted",
              "Use the third field of a line, or the values of the matrix, as weights of links.",
              request.rank.weighted);
    line.option("--storage", "NAME",
                "auto (integers; exact), or doubles over a matrix stored as coo, csr, ell, brc, brcp or "
                "brcp-paper. brc and brcp-paper may give different bits in each run.",
                "auto", [&, pagerank_only](const std::string& text) {
                    pagerank_only("--storage");
                    rank.storage = parse_name<rank_storage>(text, rank_storage_names);
                });
    line.option("--input-format", "FORM", "edges or matrix-market.", "detected from the content",
                [&](const std::string& text) {
                    static constexpr std::string_view names[] = {"edges", "matrix-market"};
                    request.rank.input_format = names[parse_name<std::size_t>(text, names)];
                });
    declare_common(line, request.common, {.gpu = true, .scratch = false});
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
    if (hits && !request.only_pagerank.empty()) {
        throw usage_error(
            fmt::format("{} cannot be combined with --method hits", request.only_pagerank.front()));
    }

    session job(self, request.common);
    output to =
        job.open_output(request.common.output, {requested.graph, requested.preference, requested.start});
    auto rows = hits ? job.rows(to, {"id", "authority", "hub"}) : job.rows(to, {"id", "rank"});
    const link_rank_result found = rank_links(requested, job.ctx, [&](const ranked_node& node) {
        if (hits) {
            rows.row({node.id, node.rank, node.hub});
        } else {
            rows.row({node.id, node.rank});
        }
    });
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
