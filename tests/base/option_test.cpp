// SPDX-License-Identifier: Apache-2.0
#include "quern/base/option.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include "quern/base/error.hpp"
#include "quern/base/text_option_table.hpp"

namespace {

enum class colour { red, green };
constexpr std::string_view colour_names[] = {"red", "green"};
constexpr std::string_view off_on[] = {"off", "on"};
constexpr std::string_view form_names[] = {"edges", "matrix"};

struct inner_options {
    unsigned depth = 3;
};
struct sample_options {
    colour paint = colour::green;
    std::optional<colour> frame;
    bool only = false;
    bool phrases = true;
    std::uint32_t count = 10;
    std::uint64_t top = 20;
    std::int64_t cut = -2;
    double share = 0.5;
    double weight = 1;
    quern::decimal slack{3, 1};
    std::string form;
    std::string text = "auto";
    inner_options inner;
};

}  // namespace

namespace quern {

template <>
inline constexpr auto options_of<sample_options> =
    std::array{option_for<&sample_options::paint>("paint", "C", colour_names, "Paint."),
               option_for<&sample_options::frame>("frame", "C", colour_names, "Frame."),
               option_for<&sample_options::only>("only", "Only."),
               option_for<&sample_options::phrases>("phrases", "on|off", off_on, "Phrases."),
               option_for<&sample_options::count>("count", "N", {.min = 1}, "Count."),
               option_for<&sample_options::top>("top", "N|all", {.min = 1, .max = 99, .all = 1000}, "Top."),
               option_for<&sample_options::cut>("cut", "N", "Cut."),
               option_for<&sample_options::share>("share", "X", {.min = 0, .below = 1}, "Share."),
               option_for<&sample_options::weight>("weight", "X", {.above = 0, .max = 0x1p64}, "Weight."),
               option_for<&sample_options::slack>("slack", "X", {.above = 0, .max = 100}, "Slack."),
               option_for<&sample_options::form>("form", "FORM", form_names, "Form."),
               option_for<&sample_options::text>("text", "TEXT", "Text."),
               option_for<&sample_options::inner, &inner_options::depth>("depth", "N", {.max = 7}, "Depth.")};

}  // namespace quern

namespace quern::option_test {
namespace {

std::string message_of(const std::function<void()>& work) {
    try {
        work();
    } catch (const usage_error& refusal) {
        return refusal.what();
    }
    return "";
}

std::string parse(option_name<sample_options> name, std::string_view text) {
    return message_of([&] { parse_value(name.row, text); });
}

template <class Change>
std::string checked(Change change) {
    sample_options options;
    change(options);
    return message_of([&] { check_ranges(options); });
}

TEST(options_test, defaults_of_members_are_in_range) {
    EXPECT_EQ(message_of([] { check_ranges(sample_options()); }), "");
    EXPECT_EQ(message_of([] { check_ranges(text_options()); }), "");
}

TEST(options_test, a_parsed_value_reaches_its_member) {
    sample_options options;
    const auto set = [&](const option<sample_options>& row, std::string_view text) {
        row.set(options, parse_value(row, text));
        EXPECT_EQ(value_text(row, row.get(options)), text);
    };
    set(option_of<sample_options>("paint"), "red");
    set(option_of<sample_options>("frame"), "green");
    set(option_of<sample_options>("phrases"), "off");
    set(option_of<sample_options>("count"), "4294967295");
    set(option_of<sample_options>("top"), "all");
    set(option_of<sample_options>("cut"), "-5");
    set(option_of<sample_options>("share"), "0.25");
    set(option_of<sample_options>("slack"), "2.5");
    set(option_of<sample_options>("form"), "matrix");
    set(option_of<sample_options>("text"), "");
    set(option_of<sample_options>("depth"), "0");
    EXPECT_EQ(options.paint, colour::red);
    EXPECT_EQ(options.frame, colour::green);
    EXPECT_FALSE(options.phrases);
    EXPECT_EQ(options.top, 1000U);
    EXPECT_EQ(options.cut, -5);
    EXPECT_EQ(options.slack, (decimal{25, 10}));
    EXPECT_EQ(options.inner.depth, 0U);
}

TEST(options_test, text_out_of_range_is_refused_with_the_range) {
    EXPECT_EQ(parse("paint", "blue"), "invalid value 'blue' (expected one of red, green)");
    EXPECT_EQ(parse("phrases", "1"), "invalid value '1' (expected one of off, on)");
    EXPECT_EQ(parse("count", "0"), "invalid value '0' (expected a whole number from 1 to 4294967295)");
    EXPECT_EQ(parse("count", "4294967296"),
              "invalid value '4294967296' (expected a whole number from 1 to 4294967295)");
    EXPECT_EQ(parse("count", "-1"), "invalid value '-1' (expected a whole number from 1 to 4294967295)");
    EXPECT_EQ(parse("top", "100"), "invalid value '100' (expected all or a whole number from 1 to 99)");
    EXPECT_EQ(parse("top", "1000"), "invalid value '1000' (expected all or a whole number from 1 to 99)");
    EXPECT_EQ(parse("top", "ALL"), "invalid value 'ALL' (expected all or a whole number from 1 to 99)");
    EXPECT_EQ(parse("cut", "1.5"), "invalid value '1.5' (expected a whole number)");
    EXPECT_EQ(parse("share", "1"), "invalid value '1' (expected a number from 0 to below 1)");
    EXPECT_EQ(parse("share", "nan"), "invalid value 'nan' (expected a number from 0 to below 1)");
    EXPECT_EQ(parse("share", "0.5x"), "invalid value '0.5x' (expected a number from 0 to below 1)");
    EXPECT_EQ(parse("share", ""), "invalid value '' (expected a number from 0 to below 1)");
    EXPECT_EQ(parse("weight", "0"), "invalid value '0' (expected a number above 0, up to 2^64)");
    EXPECT_EQ(parse("slack", "0"), "invalid value '0' (expected a number above 0, up to 100)");
    EXPECT_EQ(parse("form", ""), "invalid value '' (expected one of edges, matrix)");
    EXPECT_EQ(parse("weight", "18446744073709551616"), "");
    EXPECT_EQ(parse("share", "0"), "");
}

TEST(options_test, a_member_out_of_range_is_refused_with_its_name) {
    EXPECT_EQ(checked([](auto& o) { o.share = 1; }),
              "share: invalid value '1' (expected a number from 0 to below 1)");
    EXPECT_EQ(checked([](auto& o) { o.share = std::nan(""); }),
              "share: invalid value 'nan' (expected a number from 0 to below 1)");
    EXPECT_EQ(checked([](auto& o) { o.weight = std::numeric_limits<double>::infinity(); }),
              "weight: invalid value 'inf' (expected a number above 0, up to 2^64)");
    EXPECT_EQ(checked([](auto& o) { o.count = 0; }),
              "count: invalid value '0' (expected a whole number from 1 to 4294967295)");
    EXPECT_EQ(checked([](auto& o) { o.inner.depth = 8; }),
              "depth: invalid value '8' (expected a whole number from 0 to 7)");
    EXPECT_EQ(checked([](auto& o) { o.paint = static_cast<colour>(2); }),
              "paint: invalid value '2' (expected one of red, green)");
    EXPECT_EQ(checked([](auto& o) {
                  o.slack = {1, 0};
              }),
              "slack: invalid value '1/0' (expected a number above 0, up to 100)");
    EXPECT_EQ(checked([](auto& o) { o.form = "csv"; }),
              "form: invalid value 'csv' (expected one of edges, matrix)");
    EXPECT_EQ(checked([](auto& o) { o.top = 1000; }), "");
}

TEST(options_test, range_for_help) {
    EXPECT_EQ(range_text(option_of<sample_options>("share")), "from 0 to below 1");
    EXPECT_EQ(range_text(option_of<sample_options>("weight")), "above 0, up to 2^64");
    EXPECT_EQ(range_text(option_of<sample_options>("count")), "at least 1");
    EXPECT_EQ(range_text(option_of<sample_options>("depth")), "from 0 to 7");
    EXPECT_EQ(range_text(option_of<sample_options>("cut")), "");
    EXPECT_EQ(range_text(option_of<sample_options>("paint")), "");
}

}  // namespace
}  // namespace quern::option_test
