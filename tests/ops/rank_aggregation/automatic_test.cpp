// SPDX-License-Identifier: Apache-2.0
// Method `auto`, forced to read in each of its ways in turn: the result never depends on it, nor on threads.
#include "ops/rank_aggregation/aggregation_methods.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <optional>
#include <string>

#include "ops/rank_aggregation/ranked_lists.hpp"
#include "quern/base/error.hpp"
#include "reference/ranked_lists_reference.hpp"

namespace quern::rank_aggregation_detail::automatic_test {
namespace {

/// A way of reading, and the costs that make it the cheapest where lists are longer than their first heads.
struct forced_way {
    const char* name;
    reading_costs costs;
    std::optional<reading_way> way;  ///< none: as costs decide
};

constexpr double never = 1e12;

/// Methods cheaper than `everything` are disabled.
reading_costs not_everything(double prefix_entry, double set_bit, double scan, double everything) {
    reading_costs costs{.prefix_entry = prefix_entry, .set_bit = set_bit, .scan = scan};
    costs.everything = costs.everything_cached = everything;
    return costs;
}
reading_costs everything(std::uint32_t direct_objects, std::uint32_t parts) {
    reading_costs costs = not_everything(never, never, 0.9, 0);
    costs.object = 0;
    costs.direct_objects = direct_objects;
    costs.parts = parts;
    return costs;
}

constexpr std::uint32_t all_directly = std::numeric_limits<std::uint32_t>::max();
const forced_way every_way[] = {
    {"by cost", {}, {}},
    {"heads", not_everything(25, never, 0.9, never), reading_way::prefixes},
    {"planes", not_everything(1.01 * never, 1.4, 0.9, never), reading_way::bitmaps},
    {"planes, heads cheaper", not_everything(100, 1.4, 0.9, 99), reading_way::bitmaps},
    {"planes, no closing", not_everything(1.01 * never, 1.4, never / 100, never), reading_way::bitmaps},
    {"added in place", everything(all_directly, 1), reading_way::added_directly},
    {"dealt out at once", everything(0, 1), reading_way::partitioned},
    {"dealt out in parts", everything(0, 3), reading_way::partitioned},
};

struct raw_result {
    std::vector<reference::scored> best;
    std::vector<std::uint64_t> depths;
    reading_way way;
};

template <class Score>
raw_result result_of(const ranked_lists<Score>& lists, const aggregation_options& options,
                     const reading_costs& costs, unsigned threads) {
    const auto views = lists.views();
    std::vector<list_rule> rules;
    for (const auto& view : views) rules.push_back({view.weight, view.floor});
    const scoring rule(rules, options);
    cpu_place place(context::cpu(threads));
    const automatic_result found = automatic<Score>(
        place, rule, std::span<const ranked_list_view<Score>>(views), lists.objects, options.k, costs);
    raw_result all{{}, found.depths, found.way};
    for (const scored_object& object : found.found.best) all.best.push_back({object.score, object.id});
    return all;
}

template <class Score>
void expect_reference_every_way(const ranked_lists<Score>& lists, const aggregation_options& options) {
    const auto views = lists.views();
    const auto expected = reference::best_of_lists<Score>(views, options);
    for (const forced_way& one : every_way) {
        const std::string what = std::string(one.name) + ", " +
                                 std::string(aggregate_names[static_cast<std::size_t>(options.score)]) +
                                 ", k " + std::to_string(options.k) + ", " + std::to_string(views.size()) +
                                 " lists of " + std::to_string(lists.objects) + " objects";
        const raw_result with_one = result_of(lists, options, one.costs, 1);
        EXPECT_EQ(with_one.best, expected) << what;
        const raw_result with_three = result_of(lists, options, one.costs, 3);
        EXPECT_EQ(with_three.best, expected) << what << ", 3 threads";
        EXPECT_EQ(with_three.depths, with_one.depths) << what;
        EXPECT_EQ(with_three.way, with_one.way) << what;
    }
}

TEST(automatic_top_k, every_way_of_reading_finds_the_same) {
    for (const list_kind kind : every_list_kind) {
        for (const std::size_t count : {1u, 2u, 3u, 6u}) {
            auto lists = make_lists<float>(kind, 600, count, count);
            for (const aggregate rule : every_rule) {
                give_weights(lists, rule);
                for (const std::uint32_t k : {1u, 20u, 900u})
                    expect_reference_every_way(lists, {.k = k, .score = rule});
            }
        }
    }
}

TEST(automatic_top_k, costs_force_every_way) {
    for (const list_kind kind : {list_kind::uniform, list_kind::tied, list_kind::correlated}) {
        const auto lists = make_lists<float>(kind, 140'000, 3, 8);
        for (const forced_way& one : every_way) {
            if (one.way) {
                EXPECT_EQ(result_of(lists, {.k = 20}, one.costs, 1).way, *one.way) << one.name;
            }
        }
    }
}

TEST(automatic_top_k, many_lists_and_doubles) {
    for (const list_kind kind : {list_kind::uniform, list_kind::tied, list_kind::partial}) {
        const auto lists = make_lists<double>(kind, 700, max_lists, 5);
        for (const aggregate rule : every_rule) expect_reference_every_way(lists, {.k = 9, .score = rule});
    }
}

TEST(automatic_top_k, objects_of_several_buckets) {
    for (const list_kind kind : {list_kind::tied, list_kind::anti_correlated, list_kind::partial})
        expect_reference_every_way(make_lists<float>(kind, 135'000, 3, 9), {.k = 50});
    expect_reference_every_way(make_lists<float>(list_kind::uniform, 70'000, 3, 9),
                               {.k = 50, .score = aggregate::rrf});
    expect_reference_every_way(make_lists<float>(list_kind::partial, 70'000, 4, 9),
                               {.k = 50, .score = aggregate::min});
    expect_reference_every_way(make_lists<double>(list_kind::heavy_tailed, 70'000, 4, 10), {.k = 1000});
}

/// The few entries of one list among many objects.
TEST(automatic_top_k, short_lists_of_many_objects) {
    auto lists = make_lists<float>(list_kind::uniform, 300, 3, 11);
    lists.objects = 50'000'000;
    for (auto& ids : lists.ids)
        for (std::uint32_t& id : ids) id *= 160'001;
    const raw_result found = result_of(lists, {.k = 10}, {}, 1);
    const auto views = lists.views();
    EXPECT_EQ(found.best, reference::best_of_lists<float>(views, {.k = 10}));
}

TEST(automatic_top_k, heavy_tails_are_decided_by_their_heads) {
    const auto lists = make_lists<float>(list_kind::heavy_tailed, 100'000, 4, 12);
    const scoring rule(std::vector<list_rule>(4), {});
    cpu_place place(context::cpu(1));
    const auto views = lists.views();
    const auto found =
        automatic<float>(place, rule, std::span<const ranked_list_view<float>>(views), 100'000, 10);
    EXPECT_LT(found.found.candidates, 2'000u);
    EXPECT_EQ(found.way, reading_way::prefixes);
}

TEST(automatic_top_k, lists_that_contradict_each_other_are_read_whole) {
    const auto lists = make_lists<float>(list_kind::anti_correlated, 140'000, 4, 13);
    const raw_result found = result_of(lists, {.k = 10}, {}, 2);
    const auto views = lists.views();
    EXPECT_EQ(found.best, reference::best_of_lists<float>(views, {.k = 10}));
    EXPECT_EQ(found.depths, std::vector<std::uint64_t>(4, 140'000));
    EXPECT_EQ(found.way, reading_way::added_directly);
}

template <class Break>
void expect_fault_every_way(const Break& broken, std::size_t list, std::uint64_t position,
                            const std::string& reason, bool by_prefixes = true) {
    auto lists = make_lists<double>(list_kind::uniform, 100'000, 3, 14);
    broken(lists);
    for (const forced_way& one : every_way) {
        if (!by_prefixes && one.costs.everything != 0) continue;
        for (const unsigned threads : {1u, 3u}) {
            try {
                (void)result_of(lists, {.k = 10}, one.costs, threads);
                ADD_FAILURE() << one.name << ": " << reason;
            } catch (const list_fault& fault) {
                EXPECT_EQ(fault.list(), list) << one.name;
                EXPECT_EQ(fault.position(), position) << one.name;
                EXPECT_EQ(fault.what(), reason) << one.name;
            }
        }
    }
}

TEST(automatic_top_k, what_is_wrong_in_the_heads_is_named_whatever_the_way) {
    using lists = ranked_lists<double>;
    expect_fault_every_way([](lists& bad) { bad.scores[1][20] = bad.scores[1][19] + 1; }, 1, 20,
                           "the score is greater than the previous one");
    expect_fault_every_way([](lists& bad) { bad.scores[0][7] = std::numeric_limits<double>::quiet_NaN(); }, 0,
                           7, "the score is not a finite number");
    expect_fault_every_way([](lists& bad) { bad.ids[2][33] = bad.ids[2][3]; }, 2, 33,
                           "the id occurs twice in the list");
    expect_fault_every_way([](lists& bad) { bad.ids[2][9] = bad.objects; }, 2, 9, "the id is out of range");
}

TEST(automatic_top_k, what_is_wrong_at_the_end_is_named_where_all_is_read) {
    using lists = ranked_lists<double>;
    expect_fault_every_way([](lists& bad) { bad.scores[1][99'999] = -1; }, 1, 99'999,
                           "the score is below the floor of the list", false);
    expect_fault_every_way([](lists& bad) { bad.ids[0][99'999] = bad.ids[0][50'000]; }, 0, 99'999,
                           "the id occurs twice in the list", false);
    expect_fault_every_way([](lists& bad) { std::ranges::fill(bad.ids[1], 4u); }, 1, 1,
                           "the id occurs twice in the list", false);
    expect_fault_every_way(
        [](lists& bad) {
            bad.ids[1].pop_back();
            bad.scores[1].pop_back();
            bad.ids[1][99'998] = bad.ids[1][0];
        },
        1, 99'998, "the id occurs twice in the list", false);
}

/// For any order of detection: a repeated id is only found after all entries are read.
TEST(automatic_top_k, the_first_list_with_a_fault_is_named) {
    using lists = ranked_lists<double>;
    const auto twice = [](lists& bad) { bad.ids[0][99'999] = bad.ids[0][50'000]; };
    const std::string reason = "the id occurs twice in the list";
    expect_fault_every_way(
        [&](lists& bad) {
            twice(bad);
            bad.scores[2][70] = bad.scores[2][69] + 1;
        },
        0, 99'999, reason, false);
    expect_fault_every_way(
        [&](lists& bad) {
            twice(bad);
            std::ranges::fill(bad.ids[1], 4u);
        },
        0, 99'999, reason, false);
}

}  // namespace
}  // namespace quern::rank_aggregation_detail::automatic_test
