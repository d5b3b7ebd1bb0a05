// SPDX-License-Identifier: Apache-2.0
// The page about contamination: shares in exact bins, and texts that try to be markup.
#include "report/contamination_report.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "well_formed.hpp"

namespace quern::report::contamination_report_test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::size_t bin(std::uint32_t found, std::uint32_t of, const decimal& overlap) {
    return bin_of_share({0, 0, found, of, 0, 0}, overlap, 11);
}

TEST(contamination_report_test, a_share_on_a_bound_is_in_the_upper_bin) {
    for (std::uint32_t tenths = 0; tenths < 10; ++tenths) {
        EXPECT_EQ(bin(10 + tenths, 20, {5, 10}), tenths);
        EXPECT_EQ(bin(10'000'000 + tenths * 1'000'000 + 999'999, 20'000'000, {5, 10}), tenths);
    }
    EXPECT_EQ(bin(20, 20, {5, 10}), 10U);
    EXPECT_EQ(bin(20, 20, {1, 1}), 10U);
    EXPECT_EQ(bin(4'294'967'294, 4'294'967'295, {1, 1'000'000'000}), 9U);
    EXPECT_EQ(bin(1, 1'000'000'000, {1, 1'000'000'000}), 0U);
}

TEST(contamination_report_test, nothing_in_a_text_or_an_id_is_markup) {
    const std::string hostile = "<script>alert(1)</script>&\xff\x01\xe2\x80\xae\"'";
    contamination_report page;
    page.summary = {{"name", hostile}};
    page.sets = {{.name = hostile, .items = 3, .found_items = 1, .matches = 1}};
    page.overlap = {1, 1};
    page.shares.resize(11);
    page.examples = {{{0, 0, 2, 3, 7, 9},
                      hostile,
                      hostile + std::string(3000, 'i'),
                      hostile,
                      hostile + " item",
                      true,
                      hostile,
                      hostile + " document",
                      hostile,
                      5}};
    std::string html;
    write_contamination_report(page, [&](std::string_view bytes) { html += bytes; });
    EXPECT_THAT(html, Not(HasSubstr("<script")));
    EXPECT_THAT(html, Not(HasSubstr(std::string(300, 'i'))));
    EXPECT_THAT(html, HasSubstr("2 of 3 n-grams, bytes 7 to 9"));
    EXPECT_THAT(html, HasSubstr("33.33%"));
    EXPECT_THAT(html, HasSubstr(" … 5 bytes … "));
    EXPECT_EQ(fault_of_page(html), "");
}

}  // namespace
}  // namespace quern::report::contamination_report_test
