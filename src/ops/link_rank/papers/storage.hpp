// SPDX-License-Identifier: Apache-2.0
// PageRank in doubles, or floats, over a matrix in one of the published formats, as the papers on those formats compute it.
//
// The power iteration: a product, one pass over the nodes (vector_steps.hpp), two sums. The matrix has a row for each node.
// The row holds, for each link into the node, the share of its source that the link carries. Products round the exact sum
// once and the sums have one canonical order, so all formats but brc and brcp_paper, and all places, give the same bits.
#pragma once

#include <algorithm>
#include <limits>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "device/array.hpp"
#include "device/budget_share.hpp"
#include "device/place.hpp"
#include "ops/link_rank/fixed_page_rank.hpp"
#include "ops/link_rank/integer_problem.hpp"
#include "ops/link_rank/papers/vector_steps.hpp"
#include "primitives/reduce/reduce.hpp"
#include "primitives/sparse/by_format.hpp"
#include "quern/ops/link_rank.hpp"

namespace quern::link_rank_detail {

/// Value: of the matrix, the ranks and their sums.
template <class Place, class Value>
class power_iteration {
  public:
    power_iteration(Place& place, const link_graph_view& graph, const page_rank_options& options)
        : place_(place), options_(options), nodes_(graph.nodes) {
        std::vector<std::uint8_t> dangling(nodes_);
        for (std::uint32_t v = 0; v < nodes_; ++v) dangling[v] = graph.out_degrees[v] == 0 ? 1 : 0;
        std::vector<double> start(nodes_, 1.0 / nodes_), dangling_mass(nodes_);
        if (!options.start.empty()) {
            start = distribution(options.start);
        } else if (!options.preference.empty()) {
            start = distribution(options.preference);
        }
        for (std::uint32_t v = 0; v < nodes_; ++v) dangling_mass[v] = dangling[v] != 0 ? start[v] : 0;
        ranks_ = rounded(start, "the ranks");
        lost_ = rounded(dangling_mass, "the ranks of nodes without links");
        dangling_ = array_from(place, std::span<const std::uint8_t>(dangling), "which nodes have no links");
        if (!options.preference.empty()) {
            preference_ = rounded(distribution(options.preference), "the preference");
        }
        products_ = make_array<Value>(place, nodes_, "the products");
        changes_ = make_array<Value>(place, nodes_, "the changes of the ranks");
    }

    /// multiply(x, y): y = A·x.
    template <class Multiply>
    link_ranks run(const Multiply& multiply) {
        link_ranks found;
        step_report report(place_.ctx(), options_.tolerance, options_.max_iterations);
        while (!found.converged && found.iterations < options_.max_iterations) {
            place_.ctx().check_stop();
            multiply(ranks_.span(), products_.span());
            take_rank_step(place_, next_step(), products_.span(), preference_.span(), dangling_.span(),
                           ranks_.span(), changes_.span(), lost_.span());
            found.change = primitives::reduce<Value>(place_, changes_.span());
            ++found.iterations;
            report.step(found.iterations, found.change, found.change);
            found.converged = found.change < options_.tolerance;
        }
        const std::vector<Value> ranks = to_host(place_, ranks_.span());
        found.ranks.assign(ranks.begin(), ranks.end());
        return found;
    }

  private:
    array_on<Place, Value> rounded(const std::vector<double>& values, std::string_view what_for) {
        const std::vector<Value> as_stored(values.begin(), values.end());
        return array_from(place_, std::span<const Value>(as_stored), what_for);
    }
    rank_step next_step() {
        const double alpha = options_.damping, nodes = nodes_;
        rank_step step{alpha, 0, 1 - alpha};
        if (options_.dangling != dangling_rule::none) {
            const double dangling_mass = alpha * primitives::reduce<Value>(place_, lost_.span());
            if (options_.dangling == dangling_rule::uniform) {
                step.each = dangling_mass / nodes;
            } else {
                step.prefer += dangling_mass;
            }
        }
        if (preference_.size() == 0) step.each += step.prefer / nodes;
        return step;
    }

    Place& place_;
    const page_rank_options& options_;
    std::uint32_t nodes_;
    array_on<Place, Value> ranks_, lost_, preference_, products_, changes_;
    array_on<Place, std::uint8_t> dangling_;
};

/// The relative error of the ranks from one step's own roundings: of a share, a product, a node's arithmetic and the sum of
/// the lost mass. brc and brcp_paper round every addition; brcp_paper also rounds differences of sums.
template <class Value>
double rounding_of_step(const link_graph_view& graph, rank_storage storage) {
    std::uint64_t longest = 0;
    for (std::uint32_t v = 0; v < graph.nodes; ++v)
        longest = std::max(longest, graph.offsets[v + 1] - graph.offsets[v]);
    double roundings = 512;
    if (storage == rank_storage::brc) roundings += static_cast<double>(longest);
    if (storage == rank_storage::brcp_paper) roundings += 4096 + static_cast<double>(longest);
    return roundings * std::numeric_limits<Value>::epsilon() / 2;
}

/// The shares of a graph's links as a matrix in memory of the place.
template <class Place, class Value>
class stored_links {
  public:
    /// The graph has nodes and has been checked. `host` prepares the matrix.
    stored_links(Place& place, cpu_place& host, const link_graph_view& graph, rank_storage storage)
        : storage_(storage) {
        const budget_share memory(host.memory(), graph.sources.size() * sizeof(double),
                                  "the shares of links");
        std::vector<double> exact = link_shares(host, graph);
        std::vector<Value> shares;
        if constexpr (std::is_same_v<Value, double>) {
            shares = std::move(exact);
        } else {
            shares.assign(exact.begin(), exact.end());
            exact = {};
        }
        const primitives::csr_view<Value> rows{graph.nodes, graph.nodes, graph.offsets, graph.sources,
                                               shares};
        primitives::with_format(host, storage, rows, [&](auto stored) {
            matrix_ = primitives::to_place(place, std::move(stored));
        });
        place.synchronise();
    }

    rank_storage storage() const { return storage_; }
    void multiply(Place& place, span_on<Place, const Value> x, span_on<Place, Value> y) const {
        std::visit([&](const auto& matrix) { primitives::multiply_in(place, storage_, matrix, x, y); },
                   matrix_);
    }

  private:
    rank_storage storage_;
    std::variant<primitives::csr_matrix<Place, Value>, primitives::coo_matrix<Place, Value>,
                 primitives::ell_matrix<Place, Value>, primitives::brc_matrix<Place, Value>,
                 primitives::brcp_matrix<Place, Value>>
        matrix_;
};

/// Ranks, iterations, change, error_bound and converged; the order stays empty. `links` are those of the graph.
template <class Place, class Value>
link_ranks stored_page_rank(Place& place, const stored_links<Place, Value>& links,
                            const link_graph_view& graph, const page_rank_options& options) {
    power_iteration<Place, Value> iteration(place, graph, options);
    link_ranks found = iteration.run(
        [&](span_on<Place, const Value> x, span_on<Place, Value> y) { links.multiply(place, x, y); });
    const double arithmetic = 2 * rounding_of_step<Value>(graph, options.storage);
    found.error_bound = (options.damping * found.change + arithmetic) / (1 - options.damping) * (1 + 0x1p-30);
    return found;
}

}  // namespace quern::link_rank_detail
