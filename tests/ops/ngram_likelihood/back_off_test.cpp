// SPDX-License-Identifier: Apache-2.0
// The weights of a back-off model: after a history, the seen words and the rest share a probability of 1.
#include "ops/ngram_likelihood/back_off.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace quern::ngram_detail::back_off_test {
namespace {

TEST(back_off, seen_words_and_the_rest_sum_to_one) {
    const std::vector<double> counts = {1, 4, 7, 100};
    for (const auto smoothing :
         {ngram_smoothing::jelinek_mercer, ngram_smoothing::dirichlet, ngram_smoothing::absolute}) {
        const back_off_rule rule{smoothing, 0.4, 50, 0.7};
        for (const std::uint64_t rare : {0, 30}) {  // occurrences of words that the model lacks
            const history_weights of = rule.after(112 + rare, 112, counts.size());
            double sum = of.rest;
            for (const double f : counts) sum += rule.own(f, of.h);
            EXPECT_NEAR(sum, 1, 1e-12) << static_cast<int>(smoothing) << " " << rare;
        }
    }
}

TEST(back_off, history_without_words_leaves_all_to_the_rest) {
    const back_off_rule rule{ngram_smoothing::absolute, 0, 0, 0.7};
    EXPECT_EQ(rule.after(0, 0, 0).rest, 1);
}

TEST(back_off, absolute_discount_takes_at_most_the_count) {
    const back_off_rule rule{ngram_smoothing::absolute, 0, 0, 0.7};
    EXPECT_EQ(rule.own(0.5, 10), 0);
    EXPECT_DOUBLE_EQ(rule.own(2, 10), 0.13);
}

}  // namespace
}  // namespace quern::ngram_detail::back_off_test
