// SPDX-License-Identifier: Apache-2.0
// Values computed by hand, and trec_eval's own test files with its output for them.
#include "quern/ops/evaluate.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace quern::evaluate_test {
namespace {

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
    // by unsigned bytes: the first of two bytes of é is above z
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
    EXPECT_THAT(result.missing_topics, ::testing::ElementsAre("2", "4"));
}

TEST(evaluate, nothing_in_common_is_all_zero) {
    const auto result = evaluate(judged, {});
    EXPECT_TRUE(result.topics.empty());
    EXPECT_EQ(result.mean.map, 0);
    EXPECT_EQ(evaluate({}, {}).mean.recip_rank, 0);
    EXPECT_EQ(evaluate(judged, {{"t", {}}}).topics.at("t").map, 0);
}

TEST(evaluate, counts_what_judgements_and_run_share) {
    const relevance_judgements judgements{{"1", {{"a", 1}, {"b", 0}}}, {"2", {{"c", 1}}}, {"3", {{"d", 1}}}};
    const auto result =
        evaluate(judgements, {{"1", {{"b", 2}, {"x", 1}, {"a", 1}}}, {"2", {{"x", 1}}}, {"9", {}}});
    const run_overlap& overlap = result.overlap;
    EXPECT_EQ(overlap.judged_topics, 3u);
    EXPECT_EQ(overlap.run_topics, 3u);
    EXPECT_EQ(overlap.shared_topics, 2u);
    EXPECT_EQ(overlap.judged, 3u);
    EXPECT_EQ(overlap.retrieved, 4u);
    EXPECT_EQ(overlap.shared, 2u);
    EXPECT_FALSE(overlap.none());
    EXPECT_FALSE(overlap.little());
    EXPECT_EQ(result.mismatch, "");
}

TEST(evaluate, little_in_common_is_less_than_half_of_the_topics_or_a_twentieth_of_the_documents) {
    run_overlap some{.judged_topics = 50,
                     .run_topics = 10,
                     .shared_topics = 5,
                     .judged = 100,
                     .retrieved = 5000,
                     .shared = 5};
    EXPECT_FALSE(some.little());
    some.shared = 4;
    EXPECT_TRUE(some.little());
    some.shared = 5;
    some.shared_topics = 4;
    EXPECT_TRUE(some.little());
}

TEST(evaluate, says_how_ids_differ) {
    const auto mismatch = [](const char* topic, const char* id, const char* other_topic,
                             const char* other_id) {
        const auto result = evaluate({{topic, {{id, 1}}}}, {{other_topic, {{other_id, 1}}}});
        EXPECT_TRUE(result.overlap.none());
        return result.mismatch;
    };
    using ::testing::HasSubstr;
    EXPECT_THAT(mismatch("1", "a", "1", "a.html"),
                HasSubstr("like 'a', those of the run like 'a.html'; without the endings of files 1"));
    EXPECT_THAT(mismatch("1", "a", "1", "docs/a"), HasSubstr("without folders 1"));
    EXPECT_THAT(mismatch("1", "x/a.txt", "1", "docs/a"),
                HasSubstr("without folders and the endings of files 1"));
    EXPECT_THAT(mismatch("1", "Doc-A", "1", "doc-a"), HasSubstr("in small letters 1"));
    EXPECT_THAT(mismatch("1", "a", "1", "b"), ::testing::EndsWith("like 'a', those of the run like 'b'"));
    EXPECT_THAT(
        mismatch("001", "a", "q1", "a"),
        HasSubstr(
            "the topics of the judgements are like '001', those of the run like 'q1'; as numbers alone 1"));
    EXPECT_THAT(mismatch("x", "a", "y", "a"), ::testing::EndsWith("like 'x', those of the run like 'y'"));
    const auto shifted =
        evaluate({{"1", {{"a", 1}}}, {"2", {{"b", 1}}}}, {{"1", {{"b", 1}}}, {"2", {{"a", 1}}}});
    EXPECT_THAT(shifted.mismatch, HasSubstr("but for other topics"));
    EXPECT_THAT(evaluate({}, {{"1", {{"a", 1}}}}).mismatch, HasSubstr("judgements are empty"));
    EXPECT_THAT(evaluate({{"1", {{"a", 1}}}}, {}).mismatch, HasSubstr("run is empty"));
}

// Ids are compared in a sample, in which no topic of so many need be shared.
TEST(evaluate, a_shared_topic_after_many_others_is_shared) {
    retrieval_run run;
    for (int t = 0; t <= 100'000; ++t)
        run.emplace_hint(run.end(), std::to_string(1'000'000 + t), retrieval_run::mapped_type{{"a", 1}});
    const auto result = evaluate({{"1100000", {{"a.html", 1}}}}, run);
    EXPECT_EQ(result.overlap.shared_topics, 1u);
    EXPECT_THAT(result.mismatch, ::testing::HasSubstr("the documents of the judgements are like 'a.html'"));
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
}  // namespace quern::evaluate_test
