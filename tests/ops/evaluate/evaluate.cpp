// SPDX-License-Identifier: Apache-2.0
// Values by hand, and trec_eval's own test files with what it prints for them.
#include "quern/ops/evaluate.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace {

using namespace quern;

const relevance_judgements judged{{"t", {{"a", 1}, {"b", 0}, {"c", 3}, {"d", -1}, {"e", 1}}}};

TEST(evaluate, measures_by_hand) {
    // Order c, b, a, x: relevant at ranks 1 and 3 of three relevant in all.
    const auto result = evaluate(judged, {{"t", {{"a", 2}, {"x", 1}, {"b", 3}, {"c", 4}}}});
    const auto& values = result.topics.at("t");
    EXPECT_DOUBLE_EQ(values.map, (1.0 + 2.0 / 3) / 3);
    EXPECT_DOUBLE_EQ(values.P_10, 0.2);
    EXPECT_DOUBLE_EQ(values.recall_1000, 2.0 / 3);
    EXPECT_DOUBLE_EQ(values.recip_rank, 1.0);
    EXPECT_DOUBLE_EQ(values.ndcg_cut_10, (3 + 1 / 2.0) / (3 + 1 / std::log2(3.0) + 1 / 2.0));
    EXPECT_DOUBLE_EQ(result.mean.map, values.map);
}

TEST(evaluate, discounts_are_binary_logarithms) {
    for (int rank = 1; rank <= 10; ++rank) {
        std::vector<retrieved_document> retrieved;
        for (int i = 1; i < rank; ++i) retrieved.push_back({"x" + std::to_string(i), 2});
        retrieved.push_back({"a", 1});
        EXPECT_DOUBLE_EQ(evaluate({{"t", {{"a", 1}}}}, {{"t", retrieved}}).mean.ndcg_cut_10,
                         1 / std::log2(rank + 1.0));
    }
}

TEST(evaluate, equal_scores_go_by_falling_id) {
    EXPECT_DOUBLE_EQ(evaluate(judged, {{"t", {{"a", 1}, {"z", 1}}}}).mean.recip_rank, 0.5);
    EXPECT_DOUBLE_EQ(evaluate(judged, {{"t", {{"a", 1}, {"Z", 1}}}}).mean.recip_rank, 1.0);
    // by bytes without sign: the first of two bytes of é lies above z
    EXPECT_DOUBLE_EQ(evaluate({{"t", {{"z", 1}}}}, {{"t", {{"z", 1}, {"\xc3\xa9", 1}}}}).mean.recip_rank,
                     0.5);
}

TEST(evaluate, ranks_beyond_the_cuts_do_not_count) {
    relevance_judgements judgements;
    std::vector<retrieved_document> retrieved;
    for (int i = 0; i < 1001; ++i) {
        const std::string id = std::to_string(i);
        if (i == 10 || i == 999 || i == 1000) judgements["t"][id] = 1;
        retrieved.push_back({id, static_cast<float>(-i)});
    }
    const auto values = evaluate(judgements, {{"t", retrieved}}).topics.at("t");
    EXPECT_EQ(values.P_10, 0);
    EXPECT_EQ(values.ndcg_cut_10, 0);
    EXPECT_DOUBLE_EQ(values.recall_1000, 2.0 / 3);
    EXPECT_DOUBLE_EQ(values.recip_rank, 1.0 / 11);
    EXPECT_DOUBLE_EQ(values.map, (1.0 / 11 + 2.0 / 1000 + 3.0 / 1001) / 3);
}

TEST(evaluate, topics_are_those_of_both_files) {
    const relevance_judgements judgements{{"1", {{"a", 1}}}, {"2", {{"a", 1}}}, {"3", {{"a", 0}}}, {"4", {}}};
    const auto result = evaluate(judgements, {{"1", {{"a", 1}}}, {"3", {{"a", 1}}}, {"9", {{"a", 1}}}});
    EXPECT_EQ(result.topics.size(), 2u);  // a topic with nothing relevant counts, with zeros
    EXPECT_DOUBLE_EQ(result.mean.map, 0.5);
    EXPECT_EQ(result.topics.at("3").ndcg_cut_10, 0);
    EXPECT_THAT(result.missing_topics, testing::ElementsAre("2", "4"));
}

TEST(evaluate, nothing_in_common_is_all_zero) {
    const auto result = evaluate(judged, {});
    EXPECT_TRUE(result.topics.empty());
    EXPECT_EQ(result.mean.map, 0);
    EXPECT_EQ(evaluate({}, {}).mean.recip_rank, 0);
    EXPECT_EQ(evaluate(judged, {{"t", {}}}).topics.at("t").map, 0);
}

TEST(evaluate, gives_the_values_trec_eval_prints_for_its_test_files) {
    const char* data = std::getenv("QUERN_DATA");
    const auto folder = std::filesystem::path(data == nullptr ? "" : data) / "runs" / "trec_eval";
    if (!std::filesystem::exists(folder / "out.test.a"))
        GTEST_SKIP() << "set QUERN_DATA to a folder of real data";
    relevance_judgements judgements;
    retrieval_run run;
    std::map<std::string, std::string> printed;  // measure -> mean, to four decimals
    std::string topic, skipped, document, value, measure;
    std::ifstream qrels(folder / "qrels.test"), results(folder / "results.test"),
        output(folder / "out.test.a");
    for (int grade; qrels >> topic >> skipped >> document >> grade;) judgements[topic][document] = grade;
    for (float score; results >> topic >> skipped >> document >> skipped >> score >> skipped;)
        run[topic].push_back({document, score});
    while (output >> measure >> topic >> value) printed[measure] = value;
    const auto mean = evaluate(judgements, run).mean;
    const auto rounded = [](double number) {
        char text[32];
        std::snprintf(text, sizeof text, "%.4f", number);
        return std::string(text);
    };
    EXPECT_EQ(rounded(mean.map), printed.at("map"));
    EXPECT_EQ(rounded(mean.ndcg_cut_10), printed.at("ndcg_cut_10"));
    EXPECT_EQ(rounded(mean.P_10), printed.at("P_10"));
    EXPECT_EQ(rounded(mean.recall_1000), printed.at("recall_1000"));
    EXPECT_EQ(rounded(mean.recip_rank), printed.at("recip_rank"));
}

}  // namespace
