// SPDX-License-Identifier: Apache-2.0
// Converts the caller's parameters to the integer iteration's, and its results to the caller's. docs/link_rank.md derives
// the bounds.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "device/budget_share.hpp"
#include "device/cpu/cpu_place.hpp"
#include "ops/link_rank/fixed_page_rank.hpp"
#include "quern/ops/link_rank.hpp"

namespace quern::link_rank_detail {

/// Throws usage_error for options out of range, and for an invalid preference or start.
void check(const page_rank_options& options, std::uint32_t nodes);
void check(const hits_options& options);

/// Throws usage_error for a graph that violates link_graph_view: sizes, offsets, sources out of range or not ascending,
/// weights, degrees. One pass over the links, on the place's threads.
void check(cpu_place& place, const link_graph_view& graph);

/// Scaled to sum 1: each value has a relative error of at most 3·2^-53. `values` are not all 0.
std::vector<double> distribution(std::span<const double> values);

/// The weight of each link divided by the sum over its source's links: relative error at most 3·2^-53. 1 / degree without
/// weights.
std::vector<double> link_shares(cpu_place& place, const link_graph_view& graph);

/// What integer_problem needs to know of the links, for any options.
class link_fractions {
  public:
    link_fractions(cpu_place& place, const link_graph_view& graph);

    std::span<const std::uint64_t> weights() const { return weights_; }  ///< p_uv·2^63; empty: no weights
    std::uint64_t max_links() const { return max_links_; }               ///< maximum out-degree

  private:
    budget_share memory_;  ///< counts the array
    std::vector<std::uint64_t> weights_;
    std::uint64_t max_links_ = 0;
};

/// What the error of an iteration's result depends on, besides the result.
struct error_terms {
    std::uint32_t nodes = 0;
    std::uint64_t max_links = 0;  ///< maximum out-degree
    double damping = 0;
    dangling_rule dangling = dangling_rule::uniform;
    bool personalised = false, weighted = false;
};
/// An upper bound of Σ |rank − true rank|.
double error_bound(const error_terms& terms, const fixed_page_rank_result& result);

/// A fixed_page_rank_params together with the arrays that it points to.
class integer_problem {
  public:
    integer_problem(cpu_place& place, const link_graph_view& graph, const page_rank_options& options);
    /// The same with the fractions of this graph, which outlive this object.
    integer_problem(cpu_place& place, const link_graph_view& graph, const link_fractions& fractions,
                    const page_rank_options& options);
    integer_problem(const integer_problem&) = delete;  // the params point into this object
    integer_problem& operator=(const integer_problem&) = delete;

    const fixed_page_rank_params& params() const { return params_; }
    error_terms terms() const {
        return {nodes_,           fractions_.max_links(), damping_,
                params_.dangling, !preference_.empty(),   !fractions_.weights().empty()};
    }

  private:
    integer_problem(cpu_place& place, const link_graph_view& graph, std::unique_ptr<const link_fractions> own,
                    const page_rank_options& options);
    void set_preference(std::span<const double> preference);
    void set_start(std::span<const double> start);

    std::unique_ptr<const link_fractions> own_;  ///< null: the caller's
    const link_fractions& fractions_;
    budget_share memory_;  ///< counts the arrays
    std::uint32_t nodes_;
    double damping_;
    std::vector<std::int64_t> teleport_, start_;
    std::vector<std::uint64_t> preference_;
    fixed_page_rank_params params_;
};

/// The reversed links, and all other arrays that a fixed_hits_params points to.
class integer_hits_problem {
  public:
    integer_hits_problem(cpu_place& place, const link_graph_view& graph);
    integer_hits_problem(const integer_hits_problem&) = delete;  // parameters point into this object
    integer_hits_problem& operator=(const integer_hits_problem&) = delete;

    /// They point into this object.
    fixed_hits_params params(const hits_options& options) const;
    /// The links out of each node, as links into it.
    link_graph_view back() const {
        return {in_degrees_.empty() ? 0 : static_cast<std::uint32_t>(in_degrees_.size()),
                offsets_,
                targets_,
                {},
                in_degrees_};
    }

  private:
    budget_share memory_;  ///< counts the arrays
    std::vector<std::uint64_t> offsets_, in_degrees_, link_weights_, back_weights_;
    std::vector<std::uint32_t> targets_;
    unsigned repeat_bits_ = 0;
};

/// The smallest whole number of units of 2^-62 that is not below `tolerance`.
std::uint64_t in_units(double tolerance);

/// Ranks in doubles: relative error at most 2^-53. Values that rounding left below 0 become 0.
std::vector<double> from_units(std::span<const std::int64_t> ranks);

}  // namespace quern::link_rank_detail
