// SPDX-License-Identifier: Apache-2.0
// From what the caller asks to what is computed with, and from what the integer iteration answers to what the caller
// is told. docs/link_rank.md has the bounds in one piece.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "device/cpu/place.hpp"
#include "ops/link_rank/fixed_page_rank.hpp"
#include "primitives/external_sort/run_sorter.hpp"
#include "quern/ops/link_rank.hpp"

namespace quern::link_rank_detail {

/// Throws usage_error for options out of range, and for a preference or a start that are not as said.
void check(const page_rank_options& options, std::uint32_t nodes);
void check(const hits_options& options);

/// Throws usage_error for a graph that is not as link_graph_view says: sizes, offsets, sources out of range or not
/// rising, weights, degrees. One pass over the links, on the place's threads.
void check(cpu_place& place, const link_graph_view& graph);

/// Scaled to sum 1: each is within 3·2^-53 of its true value, relatively. `values` are not all 0.
std::vector<double> distribution(std::span<const double> values);

/// Of each link, its weight over all of its source's: within 3·2^-53, relatively. 1 over the degree where there are no
/// weights.
std::vector<double> link_shares(cpu_place& place, const link_graph_view& graph);

/// A fixed_question with the arrays that it looks at.
class integer_question {
  public:
    integer_question(cpu_place& place, const link_graph_view& graph, const page_rank_options& options);
    integer_question(const integer_question&) = delete;  // the question looks into it
    integer_question& operator=(const integer_question&) = delete;

    const fixed_question& question() const { return question_; }
    /// Σ |rank − true rank| is at most this, for what the iteration answers.
    double error_bound(const fixed_answer& answer) const;

  private:
    void set_preference(std::span<const double> preference);
    void set_start(std::span<const double> start);
    void set_weights(cpu_place& place, const link_graph_view& graph);

    primitives::budget_share memory_;  ///< counts the arrays
    std::uint32_t nodes_;
    double damping_;
    std::uint64_t most_links_ = 0;  ///< out of a node
    std::vector<std::int64_t> teleport_, start_;
    std::vector<std::uint64_t> preference_, link_weights_;
    fixed_question question_;
};

/// A fixed_hits_question, with the links back and all other arrays that it looks at.
class integer_hits_question {
  public:
    integer_hits_question(cpu_place& place, const link_graph_view& graph, const hits_options& options);
    integer_hits_question(const integer_hits_question&) = delete;  // the question looks into it
    integer_hits_question& operator=(const integer_hits_question&) = delete;

    const fixed_hits_question& question() const { return question_; }
    /// The links out of each node, as links into it.
    link_graph_view back() const {
        return {in_degrees_.empty() ? 0 : static_cast<std::uint32_t>(in_degrees_.size()),
                offsets_,
                targets_,
                {},
                in_degrees_};
    }

  private:
    primitives::budget_share memory_;  ///< counts the arrays
    std::vector<std::uint64_t> offsets_, in_degrees_, link_weights_, back_weights_;
    std::vector<std::uint32_t> targets_;
    fixed_hits_question question_;
};

/// The least whole number of units of 2^-62 that is not below `tolerance`.
std::uint64_t in_units(double tolerance);

/// Ranks in doubles: at most 2^-53 off, relatively; what rounding left below 0 is 0.
std::vector<double> from_units(std::span<const std::int64_t> ranks);

}  // namespace quern::link_rank_detail
