// SPDX-License-Identifier: Apache-2.0
#include "report/build_report.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "report/html_page.hpp"
#include "well_formed.hpp"

namespace quern::report::build_report_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::string_view hostile = "</title><script>alert(1)</script>\"' onload=\"x\" & \xFF\x01\n<b>";

std::string page_of(const build_report& page) {
    std::string text;
    write_build_report(page, [&](std::string_view bytes) { text += bytes; });
    return text;
}

build_report full_page(std::string_view text) {
    const std::string any(text);
    build_report page;
    page.store = any;
    page.run = {{any, any}};
    page.sizes = {{any, any}};
    page.reading = {{any, "3"}};
    page.params = {{any, any}};
    page.issues = {{any, "rejected", any}};
    page.issues_count = 1234;
    page.stages = {{any, 1.25, 1000000}, {"merge", 0, 0}};
    page.steps = {{any, 2.5, 0}};
    page.resources = {{any, any}};
    page.sections = {{any, 1000, "1,000", any}, {"ids", 10, any, {}}};
    page.groups = {{any, any, 3, {{any, any, 17}}}};
    page.groups_count = 1;
    page.duplicates_count = 3;
    page.words = {{any, 12, 34, {{any, .5}}}};
    page.has_thesaurus = true;
    page.pages = {{any, any, .25, 7}};
    page.document_lengths = {{any, 3, any, any}, {"2", 0, "0", {}}};
    page.word_frequencies = {{1, 100, any}, {50, 1, any}};
    return page;
}

TEST(build_report_test, is_well_formed) {
    EXPECT_EQ(fault_of_page(page_of(build_report{})), "");
    EXPECT_EQ(fault_of_page(page_of(full_page("plain"))), "");
}

TEST(build_report_test, hostile_text_is_no_markup) {
    const std::string page = page_of(full_page(hostile));
    EXPECT_EQ(fault_of_page(page), "");
    EXPECT_THAT(page, AllOf(HasSubstr("&lt;script&gt;"), Not(HasSubstr("<script")), Not(HasSubstr("<b></"))));
    EXPECT_THAT(page, AllOf(Not(HasSubstr("\x01")), Not(HasSubstr("\xFF"))));
}

TEST(build_report_test, needs_nothing_from_elsewhere) {
    const std::string page = page_of(full_page("plain"));
    EXPECT_THAT(page, AllOf(Not(HasSubstr("src=")), Not(HasSubstr("href=")), Not(HasSubstr("@import")),
                            Not(HasSubstr("url("))));
    EXPECT_THAT(page, HasSubstr("color-scheme: light dark"));
}

TEST(build_report_test, leaves_out_what_there_is_not) {
    const std::string all = page_of(full_page("plain")), none = page_of({});
    for (const char* heading :
         {"Input problems", "Near-duplicates", "Words that distinguish documents",
          "Documents that links lead to", "Lengths of documents", "Sizes on disk", "Frequencies of words"}) {
        EXPECT_THAT(all, HasSubstr(heading));
        EXPECT_THAT(none, Not(HasSubstr(heading)));
    }
    EXPECT_THAT(none, Not(HasSubstr("<svg")));
}

TEST(build_report_test, says_how_many_are_not_shown) {
    const std::string page = page_of(full_page("plain"));
    EXPECT_THAT(page, AllOf(HasSubstr("The first 1 of 1,234"), HasSubstr("and 2 more"),
                            HasSubstr("3 documents were left out as copies of 1 that were kept")));
}

TEST(build_report_test, names_the_store_and_its_run) {
    build_report page;
    page.store = "wiki";
    page.run = {{"made of", "enwiki.xml"}};
    EXPECT_THAT(page_of(page),
                AllOf(HasSubstr("<h1>wiki</h1>"), HasSubstr("<title>wiki – "), HasSubstr("enwiki.xml")));
}

TEST(build_report_test, bytes_are_rounded) {
    EXPECT_EQ(shown_bytes(0), "0 bytes");
    EXPECT_EQ(shown_bytes(999), "999 bytes");
    EXPECT_EQ(shown_bytes(1000), "1.0 kB");
    EXPECT_EQ(shown_bytes(203935016), "203.9 MB");
    EXPECT_EQ(shown_bytes(999999999), "1.0 GB");
    EXPECT_EQ(shown_bytes(~std::uint64_t{0}), "18.4 EB");
}

TEST(plots_test, the_largest_fills_the_width_and_the_others_their_share) {
    const std::vector<bar> bars = {{"a", 100, "100", {}}, {"b", 25, "25", {}}, {"c", 0, "0", {}}};
    const std::string plot = bar_plot("plot", bars);
    EXPECT_THAT(plot, AllOf(HasSubstr("width:100.0%"), HasSubstr("width:25.0%"),
                            HasSubstr("<th>b</th><td class=\"n\">25</td>")));
    const std::string columns = column_plot("plot", bars, "x");
    EXPECT_THAT(columns, AllOf(HasSubstr("height=\"180.0\""), HasSubstr("height=\"45.0\""),
                               Not(HasSubstr("<title>c: 0</title>"))));
}

TEST(plots_test, logarithmic_axes_reach_the_next_power_of_ten) {
    const std::string plot =
        log_plot("plot", std::vector<plot_point>{{1, 20000, "first"}, {1000, 1, "last"}}, "x", "y");
    // Three decades across (from 60 to 780), five up (from 304 to 24).
    EXPECT_THAT(plot,
                AllOf(HasSubstr(">100K<"), Not(HasSubstr(">1M<")), HasSubstr("M60.0 63.1L780.0 304.0")));
}

}  // namespace
}  // namespace quern::report::build_report_test
