// SPDX-License-Identifier: Apache-2.0
// Numbers of objects in the order of their ids, next to the different ids sorted by the rule of ids.
#include "tasks/runs/ordered_objects.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/id_order.hpp"

namespace quern::ordered_objects_test {
namespace {

using id_list = std::vector<std::string>;

void expect_order(const std::vector<id_list>& lists) {
    std::vector<std::vector<std::string_view>> views;
    id_list expected;
    for (const id_list& list : lists) {
        views.emplace_back(list.begin(), list.end());
        expected.insert(expected.end(), list.begin(), list.end());
    }
    const bool numeric = std::ranges::all_of(expected, [](const std::string& id) { return is_number(id); });
    std::ranges::sort(expected,
                      [&](const std::string& a, const std::string& b) { return id_precedes(a, b, numeric); });
    expected.erase(std::ranges::unique(expected).begin(), expected.end());
    for (const unsigned threads : {1u, 3u}) {
        context ctx;
        ctx.threads = threads;
        const ordered_objects objects(
            std::vector<std::span<const std::string_view>>(views.begin(), views.end()), ctx);
        ASSERT_EQ(objects.size(), expected.size());
        for (std::uint32_t i = 0; i < expected.size(); ++i) ASSERT_EQ(objects.id(i), expected[i]);
        for (std::size_t l = 0; l < lists.size(); ++l) {
            ASSERT_EQ(objects.of_list(l).size(), lists[l].size());
            for (std::size_t i = 0; i < lists[l].size(); ++i)
                ASSERT_EQ(expected[objects.of_list(l)[i]], lists[l][i]);
        }
    }
}

/// Lists of `each` ids: id(a random number).
template <class Id>
std::vector<id_list> random_lists(std::size_t each, std::uint64_t range, const Id& id) {
    std::mt19937_64 random(each + range);
    std::vector<id_list> lists(4);
    for (std::size_t l = 1; l < lists.size(); ++l)  // the first list is empty
        for (std::size_t i = 0; i < each; ++i) lists[l].push_back(id(random() % range));
    return lists;
}

std::string as_text(std::uint64_t number) {
    return std::to_string(number);
}

TEST(ordered_objects_test, numbers_without_many_gaps) {
    expect_order(random_lists(5000, 4000, as_text));
    expect_order(random_lists(5000, 100'000, as_text));
    expect_order({{"0"}, {"63", "64"}, {"127", "191"}});
}

TEST(ordered_objects_test, numbers_that_lie_far_apart) {
    expect_order(random_lists(2000, ~std::uint64_t{0}, as_text));
    expect_order({{"99999999999999999999", "1"}, {"100000000000000000000", "20000000000000000"}});
}

TEST(ordered_objects_test, texts) {
    expect_order(random_lists(2000, 3000, [](std::uint64_t n) { return "document-" + std::to_string(n); }));
    expect_order(random_lists(
        2000, 3000, [](std::uint64_t n) { return std::string(n % 12, 'a') + std::to_string(n % 7); }));
    using namespace std::string_literals;
    expect_order({{"ab", "ab\0"s, "b", "\xc3\xa4"}, {"10", "9", "09"}});
}

TEST(ordered_objects_test, no_ids) {
    expect_order({});
    expect_order({{}, {}});
}

}  // namespace
}  // namespace quern::ordered_objects_test
