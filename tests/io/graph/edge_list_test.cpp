// SPDX-License-Identifier: Apache-2.0
// Edge lists: what is accepted, and the messages for the rest.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "graph_text.hpp"
#include "io/graph/edge_lines.hpp"

namespace quern::io::edge_list_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

const graph_options weighted{.weighted = true};

std::string said_of(std::string_view text, const graph_options& options = {}) {
    return said_by([&] { graph_of(text, options); });
}

TEST(edge_list, separators_comments_and_line_ends) {
    const auto graph = graph_of(
        "\xef\xbb\xbf# a comment\r\n"
        "1\t2\r\n"
        "% another\n"
        "\n   \t \n"
        "2 3\n"
        "3,1\n"
        "  4   ,\t 1  \n"
        "%\n"
        "4 \t  4");
    EXPECT_THAT(shown(graph), ElementsAre("1>2", "2>3", "3>1", "4>1", "4>4"));
    EXPECT_THAT(names(graph), ElementsAre("1", "2", "3", "4"));
}

TEST(edge_list, repeats_and_loops_stay) {
    EXPECT_THAT(shown(graph_of("5 5\n5 7\n5 7\n")), ElementsAre("5>5", "5>7", "5>7"));
}

TEST(edge_list, integers_are_numbered_as_numbers) {
    const auto graph = graph_of("100 20\n3 100\n");
    EXPECT_THAT(names(graph), ElementsAre("3", "20", "100"));
    EXPECT_EQ(graph.node_of("20"), 1u);
    EXPECT_EQ(graph.node_of("21"), std::nullopt);
    EXPECT_EQ(graph.node_of("020"), std::nullopt);
    EXPECT_EQ(graph.node_of("x"), std::nullopt);
}

TEST(edge_list, one_name_makes_all_ids_names) {
    const auto graph = graph_of("100 20\n3 b\n20 3\n");
    EXPECT_THAT(names(graph), ElementsAre("100", "20", "3", "b"));
    EXPECT_THAT(shown(graph), ElementsAre("100>20", "3>b", "20>3"));
    EXPECT_EQ(graph.node_of("b"), 3u);
    EXPECT_EQ(graph.node_of("a"), std::nullopt);
    EXPECT_EQ(graph.node_of("c"), std::nullopt);
}

TEST(edge_list, zeros_in_front_and_signs_make_names) {
    EXPECT_THAT(names(graph_of("7 007\n7 +7\n7 0\n")), ElementsAre("+7", "0", "007", "7"));
}

TEST(edge_list, integers_up_to_64_bits) {
    const auto graph = graph_of("18446744073709551615 1\n4294967296 4294967295\n123456789 1\n");
    EXPECT_THAT(names(graph),
                ElementsAre("1", "123456789", "4294967295", "4294967296", "18446744073709551615"));
    EXPECT_TRUE(graph.names.are_integers());
    EXPECT_EQ(graph.node_of("18446744073709551615"), 4u);
    const auto beyond = graph_of("18446744073709551616 1\n9 1\n");
    EXPECT_FALSE(beyond.names.are_integers());
    EXPECT_THAT(names(beyond), ElementsAre("1", "18446744073709551616", "9"));
}

TEST(edge_list, names_are_in_the_order_of_their_bytes) {
    const auto graph = graph_of("Zürich\tabcdefgh\nabcdefghi\tabcdefg\n\xff\tA\n");
    EXPECT_THAT(names(graph), ElementsAre("A", "Zürich", "abcdefg", "abcdefgh", "abcdefghi", "\xff"));
}

TEST(edge_list, tabs_keep_blanks_and_commas_in_names) {
    EXPECT_THAT(shown(graph_of("New York\tParis, Texas\n 20th Street \t x \n")),
                ElementsAre("New York>Paris, Texas", "20th Street>x"));
    EXPECT_THAT(shown(graph_of("a,b,c\n")), ElementsAre("a>b"));
    EXPECT_THAT(shown(graph_of("a   b c\n")), ElementsAre("a>b"));
}

TEST(edge_list, percent_encoded_names_are_no_comments) {
    EXPECT_THAT(shown(graph_of("%C3%A9\t%41\n%not this\n")), ElementsAre("%C3%A9>%41"));
}

TEST(edge_list, further_fields_are_skipped_unless_weights_are_requested) {
    EXPECT_THAT(shown(graph_of("1 2 0.5 77\n2 3 nonsense\n")), ElementsAre("1>2", "2>3"));
    EXPECT_THAT(shown(graph_of("1 2 0.5 77\n2,3,1e-3\na\tb c\t 7 \n", weighted)),
                ElementsAre("1>2=0.5", "2>3=0.001", "a>b c=7"));
}

TEST(edge_list, weights_are_the_nearest_doubles) {
    for (const std::string number :
         {"0.1", "1.7976931348623157e308", "4.9e-324", "2.2250738585072011e-308", "9007199254740993",
          "123456789012345678901234567890", "0.000000000000000000000000000001", "+3.5", "1E2", "7.", ".25"}) {
        const auto graph = graph_of("1 2 " + number + "\n", weighted);
        EXPECT_EQ(graph.weights()[0], std::strtod(number.c_str(), nullptr)) << number;
    }
}

TEST(edge_list, nothing_is_a_graph_without_nodes) {
    for (const std::string_view text : {"", "\n", "# only this", "\xef\xbb\xbf"}) {
        const auto graph = graph_of(text);
        EXPECT_EQ(graph.nodes(), 0u);
        EXPECT_THAT(shown(graph), IsEmpty());
        EXPECT_EQ(graph.node_of(""), std::nullopt);
    }
}

TEST(edge_list, says_which_line_is_wrong_and_why) {
    EXPECT_EQ(said_of("1 2\n# c\n\n3\n"),
              "sample:4: only one field (expected `from to`, separated by tabs, a comma or blanks)");
    EXPECT_EQ(said_of("1 2\n-5 2\n"), "sample:2: a negative id: '-5'");
    EXPECT_EQ(said_of("1 2\nx -12\n"), "sample:2: a negative id: '-12'");
    EXPECT_EQ(said_of("1 2\n,3\n"), "sample:2: an id is empty: ''");
    EXPECT_EQ(said_of("a,,b\n"), "sample:1: an id is empty: ''");
    EXPECT_EQ(said_of("a,\n"), said_of("a\n"));
    EXPECT_THAT(said_of("1 2\r3 4\r"), HasSubstr("sample:1: a carriage return within the line"));
    EXPECT_THAT(said_of("1 2 x\ry\n"), HasSubstr("sample:1: a carriage return within the line"));
    EXPECT_EQ(said_of(std::string_view("1 2\na\0b c\n", 10)),
              "sample:2: a control character in an id: 'a?b'");
    EXPECT_THAT(said_of("\"Smith, J\",Bob\n"), HasSubstr("sample:1: quoted fields are not supported"));
    EXPECT_THAT(said_of("New York,Bonn\n"), HasSubstr("sample:1: ambiguous separators: blanks and commas"));
    EXPECT_EQ(said_of("-x -\n"), "read");
}

TEST(edge_list, says_what_is_wrong_with_a_weight) {
    const auto said = [](const std::string& weight) {
        return said_of("1 2 1\n1 2 " + weight + "\n", weighted);
    };
    EXPECT_EQ(said(""), "sample:2: no weight: a weighted link is `from to weight`");
    EXPECT_EQ(said("heavy"), "sample:2: the weight 'heavy' is not a number");
    EXPECT_EQ(said("1.2.3"), "sample:2: the weight '1.2.3' is not a number");
    EXPECT_EQ(said("0x1"), "sample:2: the weight '0x1' is not a number");
    EXPECT_EQ(said("--1"), "sample:2: the weight '--1' is not a number");
    EXPECT_EQ(said("NaN"), "sample:2: the weight 'NaN' is not a number");
    EXPECT_EQ(said("inf"), "sample:2: the weight 'inf' is infinite");
    EXPECT_EQ(said("1e999"), "sample:2: the weight '1e999' is beyond the range of a double");
    EXPECT_EQ(said("-2"), "sample:2: the weight '-2' is negative");
    EXPECT_EQ(said("-inf"), "sample:2: the weight '-inf' is negative");
    EXPECT_THAT(said("0"), HasSubstr("sample:2: the weight '0' is zero"));
    EXPECT_THAT(said("-0.0"), HasSubstr("is zero"));
    EXPECT_THAT(said("1e-999"), HasSubstr("is zero (or too small for a double)"));
}

TEST(edge_list, a_heading_of_columns_is_passed_over) {
    for (const std::string_view heading :
         {"source,target", "Source\tTarget\tWeight", "from to", "src,dst,label", "\"from_node\",\"to_node\"",
          "START_ID,END_ID", "citing;cited"}) {
        const bool known = heading != "citing;cited";
        const std::string text = std::string(heading) + "\na,b\nb,c\n";
        EXPECT_EQ(is_edge_heading(heading), known) << heading;
        if (!known) continue;
        EXPECT_THAT(shown(graph_of(text)), ElementsAre("a>b", "b>c")) << heading;
        EXPECT_THAT(shown(graph_of("\xef\xbb\xbf" + std::string(heading) + "\r\n1\t2\r\n")),
                    ElementsAre("1>2"))
            << heading;
        if (!heading.starts_with('"')) {
            EXPECT_THAT(shown(graph_of("#\n" + text)), SizeIs(3)) << heading;
        }
    }
    EXPECT_THAT(shown(graph_of("source,target")), ElementsAre("source>target"));
    EXPECT_THAT(shown(graph_of("source,target,1\na,b\n")), SizeIs(2));
    EXPECT_THAT(shown(graph_of("target,source\na,b\n")), SizeIs(2));
    EXPECT_EQ(said_of("source,target\na\n"),
              "sample:2: only one field (expected `from to`, separated by tabs, a comma or blanks)");
    EXPECT_EQ(said_of("Source\tTarget\tWeight\n1\t2\t3\n", weighted), "read");
}

TEST(edge_list, names_over_integers_are_refused) {
    EXPECT_EQ(
        said_of("# c\nsource,target\n1,2\n2,3\n"),
        "sample:2: names, where every other id is an integer: if this line is a heading, begin it with '#'");
    EXPECT_EQ(said_of("paper,page\n1,b\n"), "read");
    EXPECT_EQ(said_of("paper,page\n"), "read");
    EXPECT_EQ(said_of("1,2\nsource,target\n"), "read");
    EXPECT_EQ(said_of("source,1\n1,2\n"), "read");
    EXPECT_THAT(said_of("Paper\tPage\tWeight\n1\t2\t3\n", weighted),
                HasSubstr("sample:1: the weight 'Weight' is not a number"));
}

TEST(edge_list, the_banner_tells_the_format_unless_it_is_given) {
    const std::string text = "%%MatrixMarket matrix coordinate pattern general\n3 3 1\n1 2\n";
    EXPECT_THAT(shown(graph_of(text)), ElementsAre("1>2"));
    EXPECT_EQ(graph_of(text).nodes(), 3u);
    EXPECT_THAT(shown(graph_of(text, {.format = graph_format::edge_list})), ElementsAre("3>3", "1>2"));
    EXPECT_EQ(said_of("1 2\n", {.format = graph_format::matrix_market}),
              "sample:1: a Matrix Market file begins with %%MatrixMarket");
}

/// An id that fits is read back from both ends of its line, next to any other that fits; usual ids fit.
TEST(edge_list, ids_that_fit_come_back) {
    for (const std::string_view usual :
         {"0", "12", "18446744073709551616", "007", "New York", "Paris, Texas", "a.b/c d", "\"quoted\"",
          "%C3%A9", "x#y", "\xc3\xa9", "1a", "1.5", "-", "+7"})
        EXPECT_TRUE(fits_edge_line(usual)) << usual;
    for (const std::string_view other :
         {"", " ", " a", "a ", "a\tb", "a\n", "a\rb", "#a", "%", "%G0", "-7", "1 2", "1,2", "1 2 x", "\x01",
          "\xef\xbb\xbf"
          "a"})
        EXPECT_FALSE(fits_edge_line(other)) << other;

    constexpr std::string_view letters = " \t,#%-+\"01a2\xc3\r\n\x7f";
    std::uint64_t state = 5;
    std::vector<std::string> fitting;
    for (int i = 0; i < 2000; ++i) {
        std::string id;
        for (std::uint64_t size = 1 + state % 5; size > 0; --size) {
            state = state * 6364136223846793005 + 1442695040888963407;
            id += letters[(state >> 33) % letters.size()];
        }
        if (fits_edge_line(id)) fitting.push_back(id);
    }
    ASSERT_GT(fitting.size(), 200U);
    for (std::size_t i = 0; i + 1 < fitting.size(); ++i) {
        const std::string &a = fitting[i], &b = fitting[i + 1];
        EXPECT_THAT(shown(graph_of(a + '\t' + b + '\n')), ElementsAre(a + ">" + b));
    }
}

}  // namespace
}  // namespace quern::io::edge_list_test
