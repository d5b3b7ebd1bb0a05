// SPDX-License-Identifier: Apache-2.0
#include "ops/link_rank/integer_problem.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <string_view>
#include <utility>

#include "device/cpu/parallel.hpp"
#include "ops/link_rank/fixed_arithmetic.hpp"
#include "quern/base/error.hpp"
#include "quern/ops/link_rank_option_table.hpp"

namespace quern::link_rank_detail {
namespace {

constexpr std::size_t min_piece = std::size_t{1} << 14;
constexpr double unit = 0x1p-62;

void require(bool holds, std::string_view what) {
    if (!holds) throw usage_error(std::string(what));
}

/// Sums numbers >= 0 and their rounding errors separately: relative error about 2^-100.
class careful_sum {
  public:
    void add(double value) {  // Knuth's TwoSum
        const double sum = high_ + value, before = sum - value;
        low_ += (high_ - before) + (value - (sum - before));
        high_ = sum;
    }
    double value() const { return high_ + low_; }

  private:
    double high_ = 0, low_ = 0;
};

std::int64_t nearest(double value) {
    return static_cast<std::int64_t>(std::llrint(value));
}

/// value·2^63, for value <= 1.
std::uint64_t as_fraction(double value) {
    const double scaled = value * 0x1p63;
    return scaled >= 0x1p52 ? static_cast<std::uint64_t>(scaled)  // already whole
                            : static_cast<std::uint64_t>(nearest(scaled));
}

void check_values(std::span<const double> values, std::uint32_t nodes, const std::string& name) {
    if (values.empty()) return;
    require(values.size() == nodes, name + " has " + std::to_string(values.size()) +
                                        " values, but there are " + std::to_string(nodes) + " nodes");
    bool any = false;
    for (std::size_t v = 0; v < values.size(); ++v) {
        if (!(values[v] >= 0) || std::isinf(values[v])) {
            throw usage_error(name + " of node " + std::to_string(v) +
                              " is not a finite number of at least 0");
        }
        any |= values[v] > 0;
    }
    require(any, name + " is 0 for every node");
}

/// Powers of two that the weights are multiplied with, so that the sums of a node neither overflow nor vanish.
class weight_scales {
  public:
    explicit weight_scales(const link_graph_view& graph) {
        const auto [least, greatest] = std::minmax_element(graph.weights.begin(), graph.weights.end());
        if (graph.weights.empty() || (*least > 0x1p-900 && *greatest < 0x1p900)) return;
        greatest_.assign(graph.nodes, std::numeric_limits<int>::min());
        for (std::size_t e = 0; e < graph.sources.size(); ++e) {
            int& of_source = greatest_[graph.sources[e]];
            of_source = std::max(of_source, std::ilogb(graph.weights[e]));
        }
    }
    double scaled(double weight, std::uint32_t source) const {
        return greatest_.empty() ? weight : std::ldexp(weight, -greatest_[source]);
    }

  private:
    std::vector<int> greatest_;  ///< maximum binary exponent of each node's weights; empty: no scaling needed
};

/// Memory of an integer_problem: the scaled preference, also in two grids; the start.
std::uint64_t problem_bytes(const page_rank_options& options) {
    const std::uint64_t start = options.start.empty() ? options.preference.size() : options.start.size();
    return (3 * options.preference.size() + start) * sizeof(double);
}

}  // namespace

void check(const page_rank_options& options, std::uint32_t nodes) {
    check_ranges(options);
    if (options.precision == value_precision::f32 && options.storage == rank_storage::automatic)
        throw usage_error(
            "precision f32 has no effect on storage auto, which counts in integers (expected storage coo, "
            "csr, "
            "ell, brc, brcp or brcp-paper)");
    check_values(options.preference, nodes, "the preference");
    check_values(options.start, nodes, "the start");
}

void check(const hits_options& options) {
    check_ranges(options);
}

std::vector<double> distribution(std::span<const double> values) {
    const int exponent = std::ilogb(*std::max_element(values.begin(), values.end()));
    std::vector<double> scaled(values.size());
    careful_sum sum;
    for (std::size_t v = 0; v < values.size(); ++v) {
        scaled[v] = std::ldexp(values[v], -exponent);
        sum.add(scaled[v]);
    }
    for (double& value : scaled) value /= sum.value();
    return scaled;
}

std::vector<double> link_shares(cpu_place& place, const link_graph_view& graph) {
    const weight_scales scales(graph);
    std::vector<careful_sum> sums(graph.weights.empty() ? 0 : graph.nodes);
    for (std::size_t e = 0; e < graph.weights.size(); ++e)
        sums[graph.sources[e]].add(scales.scaled(graph.weights[e], graph.sources[e]));

    std::vector<double> shares(graph.sources.size());
    const std::size_t pieces = pieces_for(place, shares.size(), min_piece);
    for_each_piece(place, pieces, [&](std::size_t p) {
        const auto [begin, end] = piece_of(shares.size(), pieces, p);
        for (std::size_t e = begin; e < end; ++e) {
            const std::uint32_t source = graph.sources[e];
            shares[e] = sums.empty() ? 1.0 / static_cast<double>(graph.out_degrees[source])
                                     : scales.scaled(graph.weights[e], source) / sums[source].value();
        }
    });
    return shares;
}

std::uint64_t in_units(double tolerance) {
    const double units = std::ceil(tolerance / unit);
    return units >= 0x1p64 ? ~std::uint64_t{0} : static_cast<std::uint64_t>(units);
}

std::vector<double> from_units(std::span<const std::int64_t> ranks) {
    std::vector<double> values(ranks.size());
    for (std::size_t v = 0; v < ranks.size(); ++v)
        values[v] = static_cast<double>(std::max<std::int64_t>(ranks[v], 0)) * unit;
    return values;
}

link_fractions::link_fractions(cpu_place& place, const link_graph_view& graph)
    : memory_(place.memory(), graph.weights.size() * sizeof(std::uint64_t), "the weights of links") {
    if (!graph.out_degrees.empty())
        max_links_ = *std::max_element(graph.out_degrees.begin(), graph.out_degrees.end());
    if (graph.weights.empty()) return;
    const budget_share shares_and_sums(
        place.memory(), graph.weights.size_bytes() + graph.nodes * 2 * sizeof(double), "the shares of links");
    const std::vector<double> shares = link_shares(place, graph);
    weights_.resize(shares.size());
    const std::size_t pieces = pieces_for(place, shares.size(), min_piece);
    for_each_piece(place, pieces, [&](std::size_t p) {
        const auto [begin, end] = piece_of(shares.size(), pieces, p);
        for (std::size_t e = begin; e < end; ++e) weights_[e] = as_fraction(shares[e]);
    });
}

integer_problem::integer_problem(cpu_place& place, const link_graph_view& graph,
                                 const page_rank_options& options)
    : integer_problem(place, graph, std::make_unique<const link_fractions>(place, graph), options) {}

integer_problem::integer_problem(cpu_place& place, const link_graph_view& graph,
                                 std::unique_ptr<const link_fractions> own, const page_rank_options& options)
    : integer_problem(place, graph, *own, options) {
    own_ = std::move(own);
}

integer_problem::integer_problem(cpu_place& place, const link_graph_view& graph,
                                 const link_fractions& fractions, const page_rank_options& options)
    : fractions_(fractions),
      memory_(place.memory(), problem_bytes(options), "what is asked of a graph"),
      nodes_(graph.nodes),
      damping_(options.damping) {
    constexpr std::uint64_t one = std::uint64_t{1} << 62;
    if (nodes_ == 0) return;
    params_.alpha = static_cast<std::uint64_t>(std::ldexp(damping_, 64));  // exact from 2^-11 on
    params_.tolerance = in_units(options.tolerance);
    params_.max_iterations = options.max_iterations;
    params_.dangling = options.dangling;
    params_.start_each = static_cast<std::int64_t>(one / nodes_);
    const wide_natural jumping = (wide_natural{1} << 64) - params_.alpha;
    params_.teleport_each = static_cast<std::int64_t>((jumping >> 2) / nodes_);
    params_.link_weights = fractions.weights();
    if (!options.preference.empty()) set_preference(options.preference);
    if (!options.start.empty() || !options.preference.empty())
        set_start(options.start.empty() ? options.preference : options.start);
    // Without a preference it is 1/n each; the two rules are then equal.
    if (options.preference.empty() && options.dangling == dangling_rule::preference)
        params_.dangling = dangling_rule::uniform;
}

void integer_problem::set_preference(std::span<const double> preference) {
    constexpr double max = 0x1.fffffffffffffp63;  // 2^64 itself does not fit 64 bits
    for (const double share : distribution(preference)) {
        teleport_.push_back(nearest((1 - damping_) * share / unit));
        const double fraction = std::min(share * 0x1p64, max);
        preference_.push_back(fraction >= 0x1p52 ? static_cast<std::uint64_t>(fraction)
                                                 : static_cast<std::uint64_t>(nearest(fraction)));
    }
    params_.teleport = teleport_;
    params_.preference = preference_;
}

void integer_problem::set_start(std::span<const double> start) {
    constexpr double a_little_less = 1 - 0x1p-45;  // the sum stays below 1 in spite of rounding
    for (const double share : distribution(start))
        start_.push_back(static_cast<std::int64_t>(share * a_little_less / unit));
    params_.start = start_;
}

// Let P be the exact step's matrix, ‖P‖₁ <= 1, and e the rounding errors of the residual over all steps. The true ranks
// differ from z by (αP + α²P² + …)ρ + (1 + αP + α²P² + …)e, so by at most (α·L + ‖e‖₁) / (1 − α). In units of 2^-62:
double error_bound(const error_terms& terms, const fixed_page_rank_result& result) {
    const auto n = static_cast<double>(terms.nodes), steps = static_cast<double>(result.iterations);
    const double links = static_cast<double>(terms.max_links), rest = 1 - terms.damping;
    // The total ever taken, relative to 1: first 1, then the sum of the residuals, which start at 2 at most and fall.
    const double all_taken = 1 + (2 + 2 * steps * n * unit) / rest;

    double rounding = n + steps * n / 2;  // (1 − α)v; α·(a node's sum), in each step
    rounding += all_taken / 4;            // α
    if (terms.dangling == dangling_rule::uniform) rounding += n + steps / 2;  // the kept part of F; α·E
    if (terms.personalised) {
        rounding +=
            rest * 2560 + all_taken * (1536 + n / 8);  // the preference in doubles, times 2^62; times 2^64
        rounding += steps * (n + 1) / 2;               // each node's share of E
    }
    if (terms.weighted) rounding += steps * n / 2 + all_taken * (1600 + links / 4);  // sums; p
    const double change = static_cast<double>(result.change);
    const double whole = (terms.damping * change + rounding) / rest * unit;
    return whole * (1 + 0x1p-30) + 0x1p-51;  // rounding of this arithmetic; ranks in doubles
}

integer_hits_problem::integer_hits_problem(cpu_place& place, const link_graph_view& graph)
    : memory_(
          place.memory(),
          graph.sources.size_bytes() + 2 * graph.weights.size_bytes() + 3 * graph.out_degrees.size_bytes(),
          "the links back") {
    const std::size_t links = graph.sources.size();
    if (!graph.weights.empty()) {
        const double greatest = *std::max_element(graph.weights.begin(), graph.weights.end());
        link_weights_.resize(links);
        const std::size_t pieces = pieces_for(place, links, min_piece);
        for_each_piece(place, pieces, [&](std::size_t p) {
            const auto [begin, end] = piece_of(links, pieces, p);
            for (std::size_t e = begin; e < end; ++e)
                link_weights_[e] = as_fraction(graph.weights[e] / greatest);
        });
    }
    in_degrees_.resize(graph.nodes);
    offsets_.resize(std::size_t{graph.nodes} + 1);
    for (std::uint32_t u = 0; u < graph.nodes; ++u) offsets_[u + 1] = offsets_[u] + graph.out_degrees[u];
    targets_.resize(links);
    back_weights_.resize(link_weights_.size());
    // Targets ascend, so each node's links arrive in order; this also gives the multiplicities.
    std::vector<std::uint64_t> next(offsets_.begin(), offsets_.end() - 1);
    std::uint64_t max = 1, repeated = 0;
    for (std::uint32_t v = 0; v < graph.nodes; ++v) {
        in_degrees_[v] = graph.offsets[v + 1] - graph.offsets[v];
        for (std::uint64_t e = graph.offsets[v]; e < graph.offsets[v + 1]; ++e) {
            const std::uint32_t source = graph.sources[e];
            repeated = e > graph.offsets[v] && graph.sources[e - 1] == source ? repeated + 1 : 1;
            max = std::max(max, repeated);
            const std::uint64_t at = next[source]++;
            targets_[at] = v;
            if (!back_weights_.empty()) back_weights_[at] = link_weights_[e];
        }
    }
    repeat_bits_ = binary_digits(max) - 1;
}

fixed_hits_params integer_hits_problem::params(const hits_options& options) const {
    return {in_units(options.tolerance), options.max_iterations, repeat_bits_, link_weights_, back_weights_};
}

}  // namespace quern::link_rank_detail
