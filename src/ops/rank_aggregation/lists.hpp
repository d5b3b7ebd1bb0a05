// SPDX-License-Identifier: Apache-2.0
// The lists of one call in the form that the methods read: values in double, from the top down, checked as they are read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "quern/ops/rank_aggregation.hpp"

namespace quern::rank_aggregation_detail {

// The definition of an object's score, to the bit: a function of its values in the lists, in the order of the lists. Every
// method and every place computes scores, lower and upper bounds with it. A plain header, which nvcc reads too.
//
// The function is monotone in each value even when rounded: a rounded sum, product or quotient does not fall when an
// operand rises (weights, the other factors of a product and divisors are not negative; ∞ · 0 is 0). So with the floor for
// unseen values it gives an exact lower bound of the score, and with the last value read an exact upper bound. There are no
// error terms, and comparing bounds is comparing doubles.

/// A list's value from one of its entries: v_i, or the share of its reciprocal rank (rank from 1).
constexpr double value_of(aggregate rule, double weight, double constant, double score, std::uint64_t rank) {
    return rule == aggregate::rrf ? weight / (constant + static_cast<double>(rank)) : weight * score;
}
/// The value of an object that is not in the list.
constexpr double value_of_floor(aggregate rule, double weight, double floor) {
    return rule == aggregate::rrf ? 0 : weight * floor;
}

/// For factors that are not negative. Zero times infinity is zero, so that it stays monotone.
constexpr double product(double a, double b) {
    return a == 0 || b == 0 ? 0 : a * b;
}

/// The score of one object; its values are added one by one in the order of the lists.
class score_sum {
  public:
    constexpr explicit score_sum(aggregate rule) : rule_(rule), score_(rule == aggregate::product ? 1 : 0) {}
    constexpr void take(double value) {
        switch (rule_) {
            case aggregate::min:
                score_ = first_ || value < score_ ? value : score_;
                break;
            case aggregate::max:
                score_ = first_ || value > score_ ? value : score_;
                break;
            case aggregate::product:
                score_ = product(score_, value);
                break;
            default:
                score_ = score_ + value;
        }
        first_ = false;
    }
    /// `weights`: Σ weight_i, added in the order of the lists. Never −0.
    constexpr double score(double weights) const {
        return (rule_ == aggregate::mean ? score_ / weights : score_) + 0.0;
    }

  private:
    aggregate rule_;
    bool first_ = true;
    double score_;
};

/// The order of results: score descending, then id ascending.
struct scored_object {
    double score;
    std::uint32_t id;
};
constexpr bool precedes(const scored_object& a, const scored_object& b) {
    return a.score != b.score ? a.score > b.score : a.id < b.id;
}

/// The constants of a list.
struct list_rule {
    double weight = 1, floor = 0;
};

/// Throws usage_error for options, weights and floors out of range, for more than max_lists lists and for none.
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
