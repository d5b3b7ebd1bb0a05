// SPDX-License-Identifier: Apache-2.0
// What is told before a search, and the choice of the second filter.
#include "ops/near_duplicates/filter/second_filter.hpp"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "ops/near_duplicates/filter/pair_bounds.hpp"

namespace quern::second_filter_test {
namespace {

using namespace near_duplicates_detail;

std::vector<std::string> logged(std::uint64_t pairs, double seconds) {
    std::vector<std::string> messages;
    context ctx = context::cpu(1);
    ctx.on_log = [&](log_level level, std::string_view message) {
        EXPECT_EQ(level, log_level::info);
        messages.emplace_back(message);
    };
    report_cost(ctx, pairs, seconds);
    return messages;
}

TEST(search_cost_test, short_searches_are_not_announced) {
    EXPECT_TRUE(logged(1'000'000, 0).empty());
    EXPECT_TRUE(logged(1'000'000, 4.9).empty());
}

TEST(search_cost_test, tells_pairs_and_time_and_what_is_faster) {
    EXPECT_EQ(logged(1'234'567, 8.4),
              std::vector<std::string>{
                  "1,234,567 pairs of texts have similar lengths; comparing them takes about 8 s"});
    EXPECT_EQ(logged(2, 300),
              std::vector<std::string>{
                  "2 pairs of texts have similar lengths; comparing them takes about 5 minutes"});
    const auto long_search = logged(2, 36'000);
    ASSERT_EQ(long_search.size(), 1u);
    EXPECT_NE(long_search[0].find("about 10 hours; a lower threshold is faster"), std::string::npos);
}

search_cost cost_of(const std::vector<std::string>& texts, std::uint64_t pairs, bool links_suffice = false) {
    const context ctx = context::cpu(2);
    cpu_place place(ctx);
    std::string bytes;
    std::vector<std::uint64_t> offsets{0};
    for (const std::string& text : texts) {
        bytes += text;
        offsets.push_back(bytes.size());
    }
    const text_list list{bytes, offsets};
    const sketch_list sketches(place, list, {}, edit_unit::byte, 0);
    const unit_texts<std::uint8_t> units(place, list, sketches);
    const text_classes classes(place, sketches, 0, sketches.size(), true);
    const gram_rules rules = learn_rules(place, units, classes);
    return estimate_cost(units, sketches, classes, rules, decimal{5, 100}, pairs, links_suffice);
}

TEST(search_cost_test, bitmaps_are_for_texts_that_units_do_not_separate) {
    std::mt19937_64 random(1);
    std::vector<std::string> alike;  // the same letters in every text, in random order
    for (int i = 0; i < 300; ++i) {
        std::string text;
        for (int k = 0; k < 2000; ++k) text += static_cast<char>('a' + random() % 20);
        alike.push_back(text);
    }
    constexpr std::uint64_t many = 1'000'000'000;
    const search_cost of_alike = cost_of(alike, many);
    EXPECT_EQ(of_alike.cheaper(), second_filter::bitmaps);
    EXPECT_GT(of_alike.words, 0);
    const search_cost few = cost_of(alike, 10);
    EXPECT_EQ(few.cheaper(), second_filter::pair_counts);
    EXPECT_LT(few.with_counts, 1);
}

TEST(search_cost_test, pairs_of_one_group_cost_nothing_where_links_suffice) {
    std::mt19937_64 random(1);
    std::string page;
    for (int k = 0; k < 10'000; ++k) page += static_cast<char>('a' + random() % 20);
    std::vector<std::string> copies;
    for (int i = 0; i < 300; ++i) {
        copies.push_back(page);
        for (int edits = 0; edits < 20; ++edits) copies.back()[random() % page.size()] = 'x';
    }
    constexpr std::uint64_t many = 1'000'000'000;
    EXPECT_GT(cost_of(copies, many).edits, 1000);
    EXPECT_LT(cost_of(copies, many, true).edits, 1);
}

}  // namespace
}  // namespace quern::second_filter_test
