// SPDX-License-Identifier: Apache-2.0
#include "quern/base/decimal.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>

#include "quern/base/error.hpp"

namespace quern::decimal_test {
namespace {

TEST(decimal_test, is_what_was_written) {
    EXPECT_EQ(parse_decimal("0.05"), (decimal{5, 100}));
    EXPECT_EQ(parse_decimal(".05"), (decimal{5, 100}));
    EXPECT_EQ(parse_decimal("3"), (decimal{3, 1}));
    EXPECT_EQ(parse_decimal("3."), (decimal{3, 1}));
    EXPECT_EQ(parse_decimal("1e-3"), (decimal{1, 1000}));
    EXPECT_EQ(parse_decimal("1E+3"), (decimal{1000, 1}));
    EXPECT_EQ(parse_decimal("12.5e-1"), (decimal{125, 100}));
    EXPECT_EQ(parse_decimal("0"), (decimal{0, 1}));
    EXPECT_EQ(parse_decimal("0.000"), (decimal{0, 1}));
    EXPECT_EQ(parse_decimal("0e99"), (decimal{0, 1}));
    EXPECT_EQ(parse_decimal("999999999.999999999"), (decimal{999'999'999'999'999'999, 1'000'000'000}));
    EXPECT_EQ(parse_decimal("0.000000001"), (decimal{1, 1'000'000'000}));
}

TEST(decimal_test, equal_numbers_are_equal) {
    for (const char* text : {"0.050", "00.05", "5e-2", "0.0005e2", "0.050000000000000"}) {
        EXPECT_EQ(parse_decimal(text), (decimal{5, 100})) << text;
    }
    EXPECT_EQ(parse_decimal("000000000000001"), (decimal{1, 1}));
}

TEST(decimal_test, refuses_what_is_none) {
    for (const char* text :
         {"",      ".",     "e3",         ".e1", "-1",           "+1",    " 1",          "1 ",
          "1,5",   "1.5.2", "0x1",        "nan", "inf",          "1e",    "1e-",         "1e1000",
          "1e--1", "5%",    "1000000000", "1e9", "0.0000000001", "1e-10", "1.0000000001"}) {
        try {
            parse_decimal(text);
            ADD_FAILURE() << text;
        } catch (const usage_error& e) {
            EXPECT_THAT(e.what(), ::testing::HasSubstr("'" + std::string(text) + "'"));
        }
    }
}

RC_GTEST_PROP(decimal_test, is_read_back_from_its_text, ()) {
    const auto digits = *rc::gen::inRange(0, 10);
    decimal value;
    for (int i = 0; i < digits; ++i) value.denominator *= 10;
    value.numerator = *rc::gen::inRange<std::uint64_t>(0, 1'000'000'000 * value.denominator);
    const decimal read = parse_decimal(to_text(value));
    // As fractions: both products stay below 10^27.
    RC_ASSERT(static_cast<unsigned __int128>(read.numerator) * value.denominator ==
              static_cast<unsigned __int128>(value.numerator) * read.denominator);
    RC_ASSERT(parse_decimal(to_text(read)) == read);
}

}  // namespace
}  // namespace quern::decimal_test
