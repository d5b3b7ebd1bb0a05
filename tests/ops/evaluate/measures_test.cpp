// SPDX-License-Identifier: Apache-2.0
// Values of ir-measures 0.4.3 (trec_eval by pytrec_eval 0.5.11, gdeval, MS MARCO's RR), to the last digit.
#include "quern/ops/measures.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "quern/base/error.hpp"

namespace quern::measures_test {
namespace {

const relevance_judgements judged{
    {"1", {{"a", 2}, {"b", 0}, {"c", 1}, {"d", -1}, {"e", 3}, {"f", 0}, {"g", 1}}},
    {"2", {{"a", 0}, {"b", 1}}},
    {"3", {{"x", 1}}}};
const retrieval_run run{
    {"1", {{"a", 1.0}, {"b", 3.0}, {"x", 2.0}, {"c", 2.0}, {"d", 2.5}, {"f", 1.0}, {"e", 0.5}}},
    {"2", {{"b", 1.0}, {"a", 1.0}, {"y", 1.0}}}};

TEST(measures, have_the_values_of_ir_measures) {
    struct expected {
        const char* name;
        double first, second;
    };
    constexpr expected all[] = {
        {"AP", 0.25297619047619047, 0.5},
        {"AP@3", 0.0, 0.5},
        {"AP(rel=2)", 0.22619047619047616, 0.0},
        {"nDCG", 0.4127252859437119, 0.6309297535714575},
        {"nDCG@3", 0.0, 0.6309297535714575},
        {"nDCG(dcg='exp-log2')@5", 0.04384, 0.63093},
        {"nDCG(gains={1:0,3:8})@5", 0.0, 0.0},
        {"nDCG(judged_only=True)@3", 0.13249650743056282, 1.0},
        {"P@3", 0.0, 0.3333333333333333},
        {"P(rel=2)@5", 0.0, 0.0},
        {"R@3", 0.0, 1.0},
        {"RR", 0.25, 0.5},
        {"RR@2", 0.0, 0.5},
        {"Rprec", 0.25, 0.0},
        {"Bpref", 0.125, 1.0},
        {"infAP", 0.28472365738117333, 0.5},
        {"IPrec@0.5", 0.42857142857142855, 0.5},
        {"SetP", 0.42857142857142855, 0.3333333333333333},
        {"SetRelP", 0.75, 1.0},
        {"SetR", 0.75, 1.0},
        {"SetF", 0.5454545454545454, 0.5},
        {"SetF(beta=2.0)", 0.5999999999999999, 0.6000000000000001},
        {"SetAP", 0.32142857142857145, 0.3333333333333333},
        {"Success@1", 0.0, 0.0},
        {"ERR@5", 0.01562, 0.03125},
        {"Judged@3", 1.0, 0.6666666666666666},
        {"NumQ", 1.0, 1.0},
        {"NumRet", 7.0, 3.0},
        {"NumRel", 4.0, 1.0},
        {"NumRelRet", 3.0, 1.0},
        {"NumRet(rel=2)", 2.0, 0.0},
    };
    for (const auto& [name, first, second] : all) {
        const auto measured = measure_run(judged, run, parse_measures(name));
        ASSERT_EQ(measured.values.size(), 1u) << name;
        EXPECT_EQ(measured.values[0][0], first) << name;
        EXPECT_EQ(measured.values[0][1], second) << name;
    }
}

TEST(measures, rank_biased_precision_is_a_sum_of_weights) {
    // b, d, x, c, a, f, e: relevant at ranks 4, 5 and 7
    const auto measured = measure_run(judged, run, parse_measures("RBP(p=0.5) RBP(p=0.5,rel=2)@5"));
    EXPECT_DOUBLE_EQ(measured.values[0][0], std::pow(.5, 4) + std::pow(.5, 5) + std::pow(.5, 7));
    EXPECT_DOUBLE_EQ(measured.values[1][0], std::pow(.5, 5));
}

TEST(measures, names_of_trec_eval_are_those_of_ir_measures) {
    const std::pair<const char*, const char*> same[] = {{"map", "AP"},
                                                        {"map_cut_3", "AP@3"},
                                                        {"ndcg_cut_3", "nDCG@3"},
                                                        {"P_3", "P@3"},
                                                        {"recall_3", "R@3"},
                                                        {"bpref", "Bpref"},
                                                        {"iprec_at_recall_0.5", "IPrec@0.5"},
                                                        {"set_F_2.0", "SetF(beta=2)"},
                                                        {"set_relative_P", "SetP(relative=True)"},
                                                        {"success_1", "Success@1"},
                                                        {"num_rel_ret", "NumRelRet"}};
    for (const auto& [trec, other] : same) {
        const auto all = parse_measures(std::string(trec) + " " + other);
        const auto measured = measure_run(judged, run, all);
        EXPECT_EQ(measured.values[0], measured.values[1]) << trec;
        EXPECT_EQ(all[0].name, trec);
    }
    std::vector<std::string> names;
    for (const measure& m : parse_measures("map_cut.5,10,success nDCG( dcg = 'log2' )@3,P"))
        names.push_back(m.name);
    EXPECT_THAT(names, ::testing::ElementsAre("map_cut_5", "map_cut_10", "success_1", "success_5",
                                              "success_10", "nDCG(dcg='log2')@3", "P_5", "P_10", "P_15",
                                              "P_20", "P_30", "P_100", "P_200", "P_500", "P_1000"));
}

TEST(measures, missing_topics_count_only_if_complete) {
    const auto measures = parse_measures("AP NumRel");
    const auto some = measure_run(judged, run, measures), all = measure_run(judged, run, measures, true);
    EXPECT_THAT(some.topics, ::testing::ElementsAre("1", "2"));
    EXPECT_THAT(all.topics, ::testing::ElementsAre("1", "2", "3"));
    EXPECT_DOUBLE_EQ(all.all[0] * 3, some.all[0] * 2);
    EXPECT_EQ(some.all[1], 5);
    EXPECT_THAT(all.missing_topics, ::testing::ElementsAre("3"));
}

std::string refused(const char* name) {
    try {
        parse_measures(name);
    } catch (const usage_error& problem) {
        return problem.what();
    }
    return "accepted";
}

TEST(measures, refuses_what_is_no_measure) {
    EXPECT_EQ(refused("ndcg@10"), "measure 'ndcg': is not known; did you mean nDCG?");
    EXPECT_THAT(refused("map@10"), ::testing::StartsWith("measure 'map': is not known; did you mean AP"));
    EXPECT_THAT(refused("F1"), ::testing::StartsWith("measure 'F1': is not known (expected AP, nDCG, P,"));
    EXPECT_EQ(refused("Precision"), "measure 'Precision': it needs a cutoff, as in P@10");
    EXPECT_EQ(refused("Rprec@10"), "measure 'Rprec@10': it takes no cutoff (@)");
    EXPECT_EQ(refused("nDCG@0"), "measure 'nDCG@0': invalid cutoff '0' (expected a whole number from 1)");
    EXPECT_EQ(refused("AP(level=2)"),
              "measure 'AP(level=2)': it has no parameter 'level' (expected cutoff, rel, judged_only)");
    EXPECT_EQ(refused("AP(rel=x)"), "measure 'AP(rel=x)': invalid rel 'x' (expected a whole number from 0)");
    EXPECT_EQ(refused("AP(rel=2"), "measure 'AP(rel=2': a parenthesis is not closed");
    EXPECT_EQ(refused("RBP(p=2)"), "measure 'RBP(p=2)': invalid p '2' (expected a number from 0 to 1)");
    EXPECT_EQ(refused("nDCG(dcg=ln)"),
              "measure 'nDCG(dcg=ln)': invalid dcg ln (expected 'log2' or 'exp-log2')");
    EXPECT_EQ(refused("nDCG(gains={1})"),
              "measure 'nDCG(gains={1})': invalid gains {1} (expected {GRADE:GAIN,...})");
    EXPECT_EQ(refused("AP AP"), "measure 'AP': it is named twice");
    EXPECT_EQ(refused(" , "), "no measure is named (expected names such as nDCG@10 and AP)");
}

}  // namespace
}  // namespace quern::measures_test
