// SPDX-License-Identifier: Apache-2.0
#include "ops/rank_aggregation/lists.hpp"

#include <cmath>
#include <string>

#include "quern/base/error.hpp"
#include "quern/ops/rank_aggregation_option_table.hpp"

namespace quern::rank_aggregation_detail {

void check(std::span<const list_rule> rules, const aggregation_options& options) {
    if (rules.empty()) throw usage_error("there are no lists (expected at least 1)");
    if (rules.size() > max_lists) {
        throw usage_error("the best of " + std::to_string(rules.size()) +
                          " lists: " + std::to_string(max_lists) + " are the most");
    }
    check_ranges(options);
    for (std::size_t i = 0; i < rules.size(); ++i) {
        const std::string list = "list " + std::to_string(i + 1);
        if (!(rules[i].weight > 0) || !std::isfinite(rules[i].weight))
            throw usage_error("the weight of " + list + " is not a positive finite number");
        if (!std::isfinite(rules[i].floor))
            throw usage_error("the floor of " + list + " is not a finite number");
        if (options.score != aggregate::product) continue;
        if (rules[i].weight != 1)
            throw usage_error("a product has no weights: that of " + list + " is not 1");
        if (rules[i].floor < 0) throw usage_error("a product takes no negative floor: that of " + list);
    }
}

void check_list_sizes(std::size_t list, std::size_t ids, std::size_t scores) {
    if (ids == scores) return;
    throw usage_error("list " + std::to_string(list + 1) + " has " + std::to_string(ids) + " ids, but " +
                      std::to_string(scores) + " scores");
}

scoring::scoring(std::span<const list_rule> rules, const aggregation_options& options)
    : rules_(rules.begin(), rules.end()), rule_(options.score), constant_(options.constant) {
    check(rules, options);
    for (const list_rule& rule : rules_) {
        floors_.push_back(value_of_floor(rule_, rule.weight, rule.floor));
        weights_ += rule.weight;
    }
    if (rule_ == aggregate::mean && !std::isfinite(weights_))
        throw usage_error("the sum of all weights exceeds the range of double");
}

}  // namespace quern::rank_aggregation_detail
