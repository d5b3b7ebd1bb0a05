// SPDX-License-Identifier: Apache-2.0
#include "io/retrieval/trec_files.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <map>
#include <sstream>
#include <string>
#include <string_view>

#include "quern/base/error.hpp"

namespace quern::trec_files_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A file in memory that returns a few bytes at a time, so that lines cross every boundary.
class memory_source final : public io::byte_source {
  public:
    memory_source(std::string_view text, std::size_t step) : text_(text), step_(step) {}
    std::size_t read(std::span<char> out) override {
        const std::size_t size = std::min({out.size(), step_, text_.size() - at_});
        std::copy_n(text_.data() + at_, size, out.data());
        at_ += size;
        return size;
    }
    std::uint64_t consumed() const override { return at_; }
    std::uint64_t size() const override { return text_.size(); }
    const std::string& name() const override { return name_; }

  private:
    std::string_view text_;
    std::size_t step_, at_ = 0;
    std::string name_ = "sample";
};

std::vector<std::pair<std::string, std::string>> topics(std::string_view text, std::size_t step = 7) {
    memory_source source(text, step);
    std::vector<std::pair<std::string, std::string>> result;
    for (auto& topic : io::read_topics(source)) result.emplace_back(topic.id, topic.query);
    return result;
}

// The message of the invalid_input that reading must throw, with its line.
template <typename Read>
std::string refusal(std::string_view text, Read read) {
    memory_source source(text, 5);
    try {
        read(source);
    } catch (const invalid_input& refused) {
        return refused.what();
    }
    return "accepted";
}
std::string refused_topics(std::string_view text) {
    return refusal(text, [](auto& source) { io::read_topics(source); });
}
std::string refused_judgements(std::string_view text) {
    return refusal(text, [](auto& source) { io::read_judgements(source); });
}
std::string refused_by(std::string_view text) {
    return refusal(text, [](auto& source) { io::read_run(source); });
}

TEST(read_topics, reads_lines_of_id_and_text) {
    EXPECT_THAT(
        topics("1\tblue whale\n\n 2 \t  tides\r\n3\tone\ttwo"),
        ElementsAre(std::pair("1", "blue whale"), std::pair("2", "tides"), std::pair("3", "one\ttwo")));
    EXPECT_THAT(topics("7\t"), ElementsAre(std::pair("7", "")));
    EXPECT_THAT(topics("\xef\xbb\xbfq1\tx\n"), ElementsAre(std::pair("q1", "x")));
    EXPECT_TRUE(topics("").empty());
    EXPECT_TRUE(topics(" \n\n").empty());
}

TEST(read_topics, reads_trec_topics_with_and_without_closing_tags) {
    constexpr std::string_view open_ended =
        "\n<top>\n<num> Number: 301 \n<title> Organised  Crime\n\n<desc> Description: \nnot < this\n"
        "<narr> nor this\n</top>\n\n<top>\n<num> Number: 302\n<title> Topic:  R&amp;D if a < b\n</top>\n";
    constexpr std::string_view closed =
        "<?xml version='1.0'?>\n<xml>\n<TOP>\n<NUM> 1</NUM><dom>x</dom>\n<TITLE>\nwhat similarity\nlaws "
        ".\n</TITLE>\n"
        "</TOP><top><num>2</num><title>x</title></top></xml>";
    for (const std::size_t step : {1u, 2u, 64u, 10000u}) {
        EXPECT_THAT(topics(open_ended, step),
                    ElementsAre(std::pair("301", "Organised Crime"), std::pair("302", "R&D if a < b")));
        EXPECT_THAT(topics(closed, step),
                    ElementsAre(std::pair("1", "what similarity laws ."), std::pair("2", "x")));
    }
}

TEST(read_topics, takes_the_fields_requested) {
    const std::string text =
        "<top>\n<num> Number: 301 \n<title> Organised  Crime\n\n<desc> Description: \nnot < this\n<narr> "
        "Narrative:\nnor this\n</top>\n";
    const auto query = [&](io::topic_fields fields) {
        memory_source source(text, 3);
        return io::read_topics(source, fields).at(0).query;
    };
    EXPECT_EQ(query({.title = false, .description = true}), "not < this");
    EXPECT_EQ(query({.description = true, .narrative = true}), "Organised Crime not < this nor this");
    const auto refused = [](const std::string& given) {
        return refusal(given, [](auto& source) { io::read_topics(source, {.description = true}); });
    };
    EXPECT_EQ(refused("<top><num>1<title>x</top>"), "sample:1: a topic without <desc> ends here");
    EXPECT_EQ(refused("1\tx\n"), "sample:1: only TREC topics have fields (expected <top> at the beginning)");
}

TEST(read_topics, topics_may_lack_the_end_of_the_last) {
    EXPECT_THAT(topics("<top><num>1<title>a\n<top><num>2<title>b"),
                ElementsAre(std::pair("1", "a"), std::pair("2", "b")));
}

TEST(read_topics, reads_json_lines_and_passes_over_a_heading) {
    EXPECT_THAT(topics("{\"_id\":\"q1\",\"text\":\" blue\\nwhale "
                       "\",\"metadata\":{}}\n\n{\"qid\":2,\"query\":\"tides\",\"_id\":null}\n"),
                ElementsAre(std::pair("q1", "blue whale"), std::pair("2", "tides")));
    EXPECT_THAT(topics("query-id\ttext\n1\tid\n"), ElementsAre(std::pair("1", "id")));
    EXPECT_THAT(topics("id\tof ships\n"), ElementsAre(std::pair("id", "of ships")));
    EXPECT_EQ(refused_topics("{\"_id\":\"q1\"}\n"),
              "sample:1: no text: a topic needs \"id\" (or \"_id\", \"qid\") and \"text\" (or \"query\")");
    EXPECT_EQ(refused_topics("{\"id\":1,\"text\":\"x\"}\n2\ty\n"),
              "sample:2: not a JSON object, as the lines before");
    EXPECT_EQ(refused_topics("{\"id\":1,\"text\":\"x\"}\n{\"id\":\"1\",\"text\":\"x\"}\n"),
              "sample:2: duplicate topic \"1\"");
}

TEST(read_topics, refuses_what_is_no_topic) {
    EXPECT_EQ(refused_topics("1\ta\nno tab\n"), "sample:2: a topic is `id TAB text`; this line has no tab");
    EXPECT_EQ(refused_topics("1\ta\n\n1\tb\n"), "sample:3: duplicate topic \"1\"");
    EXPECT_EQ(refused_topics("\ttext\n"), "sample:1: a topic without an id");
    EXPECT_EQ(refused_topics("a b\ttext\n"), "sample:1: white space in the topic's id \"a b\"");
    EXPECT_EQ(refused_topics("<top>\n<num> 1\n</top>"), "sample:3: a topic without <title> ends here");
    EXPECT_EQ(refused_topics("<top>\n<title> x\n"), "sample:2: a topic without <num> ends here");
    EXPECT_EQ(refused_topics("<top><num>1<num>2<title>x</top>"), "sample:1: a topic with two fields <num>");
    EXPECT_EQ(refused_topics("<top><num>1<title>x</top>\n<top><num>1<title>y</top>"),
              "sample:2: duplicate topic \"1\"");
    EXPECT_EQ(refused_topics("1\t" + std::string((1 << 20) + 1, 'x')),
              "sample:1: a line is longer than 1 MiB");
}

TEST(read_judgements, reads_grades) {
    memory_source source("1 0 d1 1\r\n1\t0\td2\t-1\n\n2 0 d1 +3", 3);
    const auto judged = io::read_judgements(source);
    EXPECT_EQ(judged, (relevance_judgements{{"1", {{"d1", 1}, {"d2", -1}}}, {"2", {{"d1", 3}}}}));
}

TEST(read_judgements, takes_the_columns_that_a_heading_names) {
    const relevance_judgements expected{{"1", {{"d1", 1}, {"d2", 0}}}};
    for (const std::string_view text :
         {"query-id\tcorpus-id\tscore\n1\td1\t1\n1\td2\t0\n",
          "qid iter docid rel\r\n1 Q0 d1 1\r\n1 Q0 d2 0\r\n",
          "\xef\xbb\xbf\nGrade Doc_ID Topic\n1 d1 1\n0 d2 1\n", "1 0 d1 1\n1 0 d2 0\n"}) {
        memory_source source(text, 5);
        EXPECT_EQ(io::read_judgements(source), expected) << text;
    }
    // Not all three names: treated as a judgement.
    EXPECT_THAT(refused_judgements("topic 0 docid x\n"), ::testing::HasSubstr("is not an integer"));
}

TEST(read_judgements, refuses_what_is_no_judgement) {
    const std::string form =
        "a judgement is `topic 0 document grade`, or has columns that a heading names: `query-id corpus-id "
        "score`";
    EXPECT_EQ(refused_judgements("1 0 d\n"), "sample:1: " + form);
    EXPECT_EQ(refused_judgements("1 0 d 1\n1 0 d 1 x\n"), "sample:2: " + form);
    EXPECT_EQ(refused_judgements("1 Q0 d 1 0.5 x\n"),
              "sample:1: " + form + "; six fields are a line of a run (the judgements come first)");
    EXPECT_EQ(refused_judgements("query-id corpus-id score\n1 d\n"),
              "sample:2: a judgement has a field for each column of the heading");
    EXPECT_EQ(refused_judgements("1 0 d 1.5\n"), "sample:1: the grade \"1.5\" is not an integer");
    EXPECT_EQ(refused_judgements("1 0 d 99999999999\n"),
              "sample:1: the grade \"99999999999\" is not an integer");
    EXPECT_EQ(refused_judgements("1 0 d 1\n2 0 d 1\n1 0 d 1\n"),
              "sample:3: duplicate document \"d\" in topic \"1\"");
}

TEST(read_run, reads_scores) {
    memory_source source("1 Q0 d2 1 0.1 tag\n1\tQ0\td1\t7\t-1e3\ttag of words\n2 Q0 d1 1 inf t\n", 3);
    const auto run = io::read_run(source);
    ASSERT_EQ(run.size(), 2u);
    ASSERT_EQ(run.at("1").size(), 2u);
    EXPECT_EQ(run.at("1")[0].id, "d2");
    EXPECT_EQ(run.at("1")[0].score, 0.1);
    EXPECT_EQ(run.at("1")[1].score, -1000.0);
    EXPECT_EQ(run.at("2")[0].score, std::numeric_limits<double>::infinity());
}

TEST(read_run, refuses_what_is_no_run) {
    constexpr auto form = "sample:1: a line of a run is `topic Q0 document rank score tag`";
    EXPECT_EQ(refused_by("1 Q0 d 1 0.5\n"), form);
    EXPECT_EQ(refused_by("1 Q0\n"), form);
    EXPECT_EQ(refused_by("1 Q0 d 1 0.5x t\n"), "sample:1: the score \"0.5x\" is not a number");
    EXPECT_EQ(refused_by("1 Q0 d 1 nan t\n"), "sample:1: the score \"nan\" is not a number");
    EXPECT_EQ(refused_by("1 Q0 d 1 -nan t\n"), "sample:1: the score \"-nan\" is not a number");
    EXPECT_EQ(refused_by("1 Q0 d 1 +-1 t\n"), "sample:1: the score \"+-1\" is not a number");
    EXPECT_EQ(refused_by("1 Q0 d 1 1e999 t\n"), "sample:1: the score \"1e999\" is out of range");
    EXPECT_EQ(refused_by("1 Q0 d 1 5 t\n1 Q0 d 2 4 t\n"),
              "sample:2: duplicate document \"d\" in topic \"1\"");
    EXPECT_THAT(refused_by("1 Q0 d 1 \x1b[31m t\n"), HasSubstr("\"?[31m\""));
}

}  // namespace
}  // namespace quern::trec_files_test
