// SPDX-License-Identifier: Apache-2.0
// The lists of one call in the form that the methods read: values in double, from the top down, checked as they are read.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ops/rank_aggregation/score_rule.hpp"

namespace quern::rank_aggregation_detail {

/// The constants of a list.
struct list_rule {
    double weight = 1, floor = 0;
};

/// Throws usage_error for options, weights and floors out of range, for more than most_lists lists and for none.
void check(std::span<const list_rule> rules, const aggregation_options& options);

/// Throws usage_error if a list has different numbers of ids and scores.
void check_list_sizes(std::size_t list, std::size_t ids, std::size_t scores);

/// A rule with its lists: values and bounds.
class scoring {
  public:
    scoring(std::span<const list_rule> rules, const aggregation_options& options);

    std::size_t lists() const { return rules_.size(); }
    aggregate rule() const { return rule_; }
    double value(std::size_t list, double score, std::uint64_t rank) const {
        return value_of(rule_, rules_[list].weight, constant_, score, rank);
    }
    double floor_value(std::size_t list) const { return floors_[list]; }
    std::span<const double> floor_values() const { return floors_; }
    /// `values`: one per list, in their order.
    double score(std::span<const double> values) const {
        score_sum sum(rule_);
        for (const double value : values) sum.take(value);
        return sum.score(weights_);
    }
    /// The score of the values seen (`seen`: one bit per list), with `others` for the rest.
    double score(std::span<const double> values, std::uint64_t seen, std::span<const double> others) const {
        score_sum sum(rule_);
        for (std::size_t i = 0; i < values.size(); ++i)
            sum.take((seen >> i & 1) != 0 ? values[i] : others[i]);
        return sum.score(weights_);
    }
    double weights() const { return weights_; }
    std::span<const list_rule> rules() const { return rules_; }
    double constant() const { return constant_; }

  private:
    std::vector<list_rule> rules_;
    std::vector<double> floors_;  ///< as values
    aggregate rule_;
    double constant_, weights_ = 0;
};

}  // namespace quern::rank_aggregation_detail
