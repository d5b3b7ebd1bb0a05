// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "quern/base/error.hpp"
#include "quern/ops/fusion.hpp"
#include "reference/fusion_reference.hpp"

namespace quern::fuse_test {
namespace {

using reference::one_run;

std::vector<run_list_view> views_of(const std::vector<one_run>& runs) {
    std::vector<run_list_view> views;
    for (const one_run& run : runs) views.push_back({run.ids, run.scores, {}});
    return views;
}

one_run random_run(std::mt19937_64& random, std::uint32_t documents, unsigned kinds_of_scores) {
    one_run run;
    for (std::uint32_t d = 0; d < documents; ++d)
        if (random() % 3 != 0) run.ids.push_back(d);
    std::ranges::shuffle(run.ids, random);
    for (std::size_t i = 0; i < run.ids.size(); ++i)
        run.scores.push_back(static_cast<double>(random() % kinds_of_scores) - 3.5);
    std::ranges::sort(run.scores, std::greater());
    return run;
}

TEST(fusion, every_rule_and_normalisation_is_as_worded) {
    std::mt19937_64 random(11);
    for (const std::uint32_t documents : {1u, 5u, 60u}) {
        for (const unsigned kinds : {1u, 3u, 1000u}) {
            std::vector<one_run> runs;
            for (int r = 0; r < 4; ++r) runs.push_back(random_run(random, documents, kinds));
            runs.push_back({});
            const std::vector<double> weights = {1, 0.5, 2, -0.25, 3};
            for (std::size_t rule = 0; rule < std::size(fusion_rule_names); ++rule) {
                for (std::size_t how = 0; how < std::size(score_normalisation_names); ++how) {
                    for (const bool weighted : {false, true}) {
                        fusion_options options{.rule = static_cast<fusion_rule>(rule),
                                               .normalisation = static_cast<score_normalisation>(how)};
                        if (weighted) options.weights = weights;
                        const auto expected = reference::fused_scores(runs, options);
                        const fused_list fused = fuse(views_of(runs), documents, options);
                        ASSERT_EQ(fused.ids.size(), expected.size());
                        for (std::size_t i = 0; i < fused.ids.size(); ++i) {
                            ASSERT_DOUBLE_EQ(fused.scores[i], expected.at(fused.ids[i]));
                            if (i == 0) continue;
                            ASSERT_TRUE(
                                fused.scores[i] < fused.scores[i - 1] ||
                                (fused.scores[i] == fused.scores[i - 1] && fused.ids[i] > fused.ids[i - 1]));
                        }
                        options.depth = 7;
                        const fused_list first = fuse(views_of(runs), documents, options);
                        const std::size_t kept = std::min<std::size_t>(7, fused.ids.size());
                        ASSERT_EQ(first.ids, std::vector(fused.ids.begin(), fused.ids.begin() + kept));
                    }
                }
            }
        }
    }
}

// Powers of two change no digit: scores far from 1 are normalised like those near it.
TEST(fusion, scores_of_any_size_are_normalised) {
    const std::vector<double> near = {7, 3, 2.5, -1};
    for (const score_normalisation how :
         {score_normalisation::minmax, score_normalisation::zscore, score_normalisation::sum}) {
        const auto normalised = [&](int power) {
            one_run run{{0, 1, 2, 3}, {}};
            for (const double score : near) run.scores.push_back(std::ldexp(score, power));
            const std::vector<one_run> runs = {run};
            return fuse(views_of(runs), 4, {.normalisation = how}).scores;
        };
        for (const int power : {-1060, -800, -500, 0, 500, 800, 1020})
            EXPECT_EQ(normalised(power), normalised(0)) << power;
    }
}

TEST(fusion, ties_stand_as_the_caller_has_them) {
    const std::vector<one_run> runs = {{{0, 1, 2, 3}, {1, 1, 1, 1}}};
    const auto falling = [](std::uint32_t a, std::uint32_t b) { return a > b; };
    EXPECT_EQ(fuse(views_of(runs), 4, {}).ids, (std::vector<std::uint32_t>{0, 1, 2, 3}));
    EXPECT_EQ(fuse(views_of(runs), 4, {.depth = 2}, falling).ids, (std::vector<std::uint32_t>{3, 2}));
}

TEST(fusion, what_is_wrong_is_named) {
    const auto fault = [](const one_run& second) {
        const std::vector<one_run> runs = {{{0, 1}, {2, 1}}, second};
        try {
            fuse(views_of(runs), 3, {});
        } catch (const list_fault& found) {
            return std::to_string(found.list()) + ":" + std::to_string(found.position()) + " " + found.what();
        }
        return std::string();
    };
    EXPECT_EQ(fault({{2, 0, 2}, {3, 2, 1}}), "1:2 the id occurs twice in the list");
    EXPECT_EQ(fault({{2, 3}, {3, 2}}), "1:1 the id is out of range");
    EXPECT_EQ(fault({{2, 1}, {3, 4}}), "1:1 the score is greater than the previous one");
    EXPECT_EQ(fault({{2, 1}, {3, std::nan("")}}), "1:1 the score is not a finite number");
    const std::vector<one_run> huge = {{{0, 1}, {1e308, 1}}, {{2, 0}, {1e308, 1e308}}};
    try {
        fuse(views_of(huge), 3, {});
        FAIL();
    } catch (const list_fault& found) {
        EXPECT_EQ(found.list(), 1u);
        EXPECT_EQ(found.position(), 1u);
        EXPECT_STREQ(found.what(), "the fused score of its document exceeds the range of double");
    }
    const std::vector<std::uint32_t> ids = {2, 1}, ranks = {1, 0};
    const std::vector<double> scores = {2, 1};
    const std::vector<run_list_view> ranked = {{ids, scores, ranks}};
    EXPECT_THROW(fuse(ranked, 3, {.rule = fusion_rule::rrf, .constant = 0}), list_fault);
    EXPECT_EQ(fuse(ranked, 3, {.rule = fusion_rule::rrf, .constant = 1}).scores, (std::vector{1, 0.5}));
    EXPECT_EQ(fuse(ranked, 3, {.rule = fusion_rule::borda, .constant = 0}).scores,
              (std::vector<double>{3, 2}));
    const std::vector<one_run> runs(2);
    const std::vector<double> weights = {1};
    EXPECT_THROW(fuse(views_of(runs), 3, {.weights = weights}), usage_error);
    EXPECT_THROW(fuse(views_of(runs), 3, {.depth = 0}), usage_error);
    EXPECT_THROW(fuse(views_of(runs), 3, {.constant = -1}), usage_error);
}

}  // namespace
}  // namespace quern::fuse_test
