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
    std::vector<std::string_view> only_pagerank;  ///< options given that hits does not have
};

void declare(command_line& line, rank_request& request) {
    page_rank_options& rank = request.rank.rank;
    const auto pagerank_only = [&](std::string_view name) { request.only_pagerank.push_back(name); };
    line.argument(
        "GRAPH",
        "A graph: an edge list (source and target, tabs, blanks or a comma between; # and % begin "
        "comments) or Matrix Market, plain or compressed; - is standard input. Or a store: the links "
        "between its documents.",
        request.graph);
    line.section("Ranks");
    line.option("--method", "NAME", "pagerank, or hits (authorities and hubs).", "pagerank",
                [&](const std::string& text) {
                    request.rank.method = parse_name<rank_method>(text, rank_method_names);
                });
    line.option("--damping", "X", "The share of rank that goes along links; 0 to below 1.", "0.85",
                [&, pagerank_only](const std::string& text) {
                    pagerank_only("--damping");
                    rank.damping = parse_number(text);
                    if (!(rank.damping >= 0 && rank.damping < 1))
                        throw usage_error("'" + text + "' is not from 0 to below 1");
                });
    line.option(
        "--tolerance", "X",
        "Stop when a step changes the ranks, whose sum is 1, by less than X in all. The error is then "
        "at most damping/(1 - damping) times the change; it is reported.",
        "1e-5", [&](const std::string& text) {
            rank.tolerance = parse_number(text);
            if (!(rank.tolerance > 0)) throw usage_error("'" + text + "' is not above 0");
        });
    line.option("--max-iterations", "N",
                "Steps at most. Ranks that have not converged are written with a warning.",
                std::to_string(rank.max_iterations), [&](const std::string& text) {
                    rank.max_iterations = static_cast<std::uint32_t>(parse_integer(text, 1, 0xffffffff));
                });
    line.option("--dangling", "RULE",
                "Where the rank of nodes without links out goes: uniform (to all nodes), preference (as "
                "--personalize says) or none (it is lost, and the sum is below 1).",
                "uniform", [&, pagerank_only](const std::string& text) {
                    pagerank_only("--dangling");
                    rank.dangling = parse_name<dangling_rule>(text, dangling_rule_names);
                });
    line.option("--personalize", "FILE",
                "Jump to these nodes only: lines of an id, or of an id, a tab and a weight. An id that is no "
                "node is an error.",
                "", [&, pagerank_only](const std::string& text) {
                    pagerank_only("--personalize");
                    request.rank.preference = text;
                });
    line.option(
        "--warm", "FILE",
        "Begin with these ranks (id, tab, rank: an earlier result). Nodes it does not name begin at 0; "
        "ids that are no nodes any more are passed over.",
        "", [&, pagerank_only](const std::string& text) {
            pagerank_only("--warm");
            request.rank.start = text;
        });
    line.flag("--weighted", "The third field of a line, or the matrix's values, are weights of links.",
              request.rank.weighted);
    line.option("--storage", "NAME",
                "auto (integers; exact), or doubles over a matrix kept as coo, csr, ell, brc, brcp or "
                "brcp-paper. brc and brcp-paper may give other bits in each run.",
                "auto", [&, pagerank_only](const std::string& text) {
                    pagerank_only("--storage");
                    rank.storage = parse_name<rank_storage>(text, rank_storage_names);
                });
    line.option("--input-format", "FORM", "edges or matrix-market.", "told from the content",
                [&](const std::string& text) {
                    static constexpr std::string_view names[] = {"edges", "matrix-market"};
                    request.rank.input_format = names[parse_name<std::size_t>(text, names)];
                });
    declare_common(line, request.common);
    line.example("quern pagerank web.txt.zst -o ranks.tsv",
                 "The nodes of a graph, the most important first.");
    line.example("quern pagerank wiki --format table | head", "The documents of a store.");
    line.example("quern pagerank web.txt --personalize seeds.tsv --dangling preference",
                 "Importance as seen from a few nodes.");
}

}  // namespace

int run_pagerank(const command& self, const std::vector<std::string>& arguments) {
    rank_request request;
    command_line line(
        self, "GRAPH|STORE [OPTION]...",
        "Writes the nodes of a graph by importance: id and rank, the highest first, ties by id (as "
        "numbers where all ids are integers). Each line of an edge list is one link: repeats count, "
        "links of a node to itself stay. --method hits writes id, authority and hub.\n\n"
        "Ranks are summed in integers: the same bits for any order of the lines, any number of "
        "threads and any device.");
    declare(line, request);
    line.parse(arguments);
    link_rank_options& asked = request.rank;
    asked.graph = request.graph;
    const bool hits = asked.method == rank_method::hits;
    if (hits && !request.only_pagerank.empty()) {
        throw usage_error(fmt::format("{} does not go with --method hits", request.only_pagerank.front()));
    }

    session run(self, request.common);
    output to = run.open_output(request.common.output, {asked.graph, asked.preference, asked.start});
    auto rows = hits ? run.rows(to, {"id", "authority", "hub"}) : run.rows(to, {"id", "rank"});
    const link_rank_result found = rank_links(asked, run.run, [&](const ranked_node& node) {
        if (hits) {
            rows.row({node.id, node.rank, node.hub});
        } else {
            rows.row({node.id, node.rank});
        }
    });
    run.statistics = found.statistics;
    rows.finish();
    run.messages.finish();
    to.commit();

    const std::string size =
        fmt::format("{}, {}", counted(found.nodes, "node"), counted(found.links, "link"));
    const std::string steps =
        fmt::format("{}, the last changed {:.3g}", counted(found.iterations, "iteration"), found.change);
    run.messages.info(
        hits ? fmt::format("{}: {}", size, steps)
             : fmt::format("{}: {}; Σ |error| is at most {:.3g}", size, steps, found.error_bound));
    if (found.unknown_starts != 0) {
        run.messages.warning(fmt::format("{}: {} that the graph does not have", asked.start.string(),
                                         counted(found.unknown_starts, "id")));
    }
    if (!found.converged) {
        // Ended before the last one allowed: the ranks have all the digits they can have.
        const bool stuck = found.iterations < asked.rank.max_iterations;
        run.messages.warning(fmt::format("not converged after {}: {} {:.3g}, --tolerance is {:g}",
                                         counted(found.iterations, "iteration"),
                                         stuck ? "rounding alone changes the ranks by" : "the last changed",
                                         found.change, asked.rank.tolerance));
    }
    run.write_statistics();
    return 0;
}

}  // namespace quern::cli
