// SPDX-License-Identifier: Apache-2.0
// Methods that run on every place, one-shot and over resident lists, against reading everything.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>
#include <string>
#include <type_traits>

#include "on_each_place.hpp"
#include "ops/rank_aggregation/device_lists.hpp"
#include "ops/rank_aggregation/list_set.hpp"
#include "ops/rank_aggregation/lists_by_objects.hpp"
#include "ops/rank_aggregation/ranked_lists.hpp"
#include "quern/base/error.hpp"
#include "reference/ranked_lists_reference.hpp"
#include "several_places.hpp"

namespace quern::rank_aggregation_places_test {
namespace {

constexpr aggregation_method everywhere[] = {aggregation_method::automatic, aggregation_method::segmented};

template <class Score>
ranked_list_set placed(const ranked_lists<Score>& lists, const context& ctx) {
    const auto views = lists.views();
    return {std::span<const ranked_list_view<Score>>(views), lists.objects, ctx};
}

template <class Tested>
class rank_aggregation_places : public on_place<Tested> {
  protected:
    static context ctx() { return Tested::ctx(); }

    /// All methods, for several k: the best of many start with the best of few. `segmented` over large lists only for the
    /// first k.
    template <class Score>
    void expect_reference(const ranked_lists<Score>& lists, aggregation_options options,
                          std::initializer_list<std::uint32_t> wanted, ranked_list_set& set) {
        const auto views = lists.views();
        options.k = std::max(wanted);
        const auto expected = reference::best_of_lists<Score>(views, options);
        for (const aggregation_method method : everywhere) {
            for (const std::uint32_t k : wanted) {
                if (method == aggregation_method::segmented && lists.objects > 1000 && k != *wanted.begin())
                    continue;
                options.method = method;
                options.k = k;
                auto first = expected;
                first.resize(std::min<std::size_t>(k, first.size()));
                ASSERT_EQ(pairs_of(set.top_k(options)), first)
                    << aggregation_method_names[static_cast<std::size_t>(method)] << " of "
                    << aggregate_names[static_cast<std::size_t>(options.score)] << ", k " << k << ", "
                    << lists.ids.size() << " lists of " << lists.objects;
            }
        }
    }
    template <class Score>
    void expect_reference(const ranked_lists<Score>& lists, const aggregation_options& options,
                          std::initializer_list<std::uint32_t> wanted) {
        ranked_list_set set = placed(lists, ctx());
        expect_reference(lists, options, wanted, set);
    }
};
TYPED_TEST_SUITE(rank_aggregation_places, tested_places, tested_place_names);

TYPED_TEST(rank_aggregation_places, small_lists_of_every_kind_and_rule) {
    const bool few = tested_with().small_sizes;
    for (const list_kind kind : every_list_kind) {
        for (const std::uint32_t objects : {1u, 33u, 400u}) {
            for (const std::size_t count : {1u, 2u, 4u, 7u}) {
                if (few && (objects == 33 || count == 2)) continue;
                auto lists = make_lists<float>(kind, objects, count, objects * 31 + count);
                for (const aggregate rule : every_rule) {
                    if (few && rule != aggregate::sum && rule != aggregate::rrf) continue;
                    give_weights(lists, rule);
                    this->expect_reference(lists, {.score = rule, .stride = 1 + objects / 5},
                                           {1, 10, 100, 5000});
                }
            }
        }
    }
}

TYPED_TEST(rank_aggregation_places, large_lists_of_every_kind_and_rule) {
    const bool few = tested_with().small_sizes;
    const std::uint32_t objects = few ? 17'000 : 30'000;
    for (const list_kind kind : every_list_kind) {
        for (const std::size_t count : {1u, 2u, 4u, 9u}) {
            if (few && count != 4) continue;
            auto lists = make_lists<float>(kind, objects, count, 7 + count);
            for (const aggregate rule : every_rule) {
                if ((few || count == 2 || count == 9) && rule != aggregate::sum) continue;
                give_weights(lists, rule);
                this->expect_reference(lists, {.score = rule, .stride = objects / 7}, {1, 5, 900});
            }
        }
    }
}

TYPED_TEST(rank_aggregation_places, many_lists_and_doubles) {
    if (tested_with().small_sizes) return;
    for (const std::size_t count : {std::size_t{33}, std::size_t{64}}) {
        const list_kind kind = count == 64 ? list_kind::correlated : list_kind::partial;
        auto lists = make_lists<double>(kind, 17'000, count, 11 + count);
        for (const aggregate rule : {aggregate::sum, aggregate::min}) {
            give_weights(lists, rule);
            this->expect_reference(lists, {.score = rule, .stride = 4'000}, {3, 40});
        }
    }
}

TYPED_TEST(rank_aggregation_places, lists_of_unequal_lengths) {
    std::mt19937_64 random(5);
    for (int round = 0; round < (tested_with().small_sizes ? 3 : 60); ++round) {
        const auto objects = static_cast<std::uint32_t>(1 + random() % (round % 8 == 0 ? 30'000 : 300));
        const list_kind kind = every_list_kind[random() % std::size(every_list_kind)];
        auto lists = make_lists<double>(kind, objects, 1 + random() % 6, random());
        for (std::size_t i = 0; i < lists.ids.size(); ++i) {
            const std::size_t size = random() % (lists.ids[i].size() + 1);
            lists.ids[i].resize(size);
            lists.scores[i].resize(size);
        }
        const aggregate rule = every_rule[random() % std::size(every_rule)];
        give_weights(lists, rule);
        const auto k = static_cast<std::uint32_t>(1 + random() % 30);
        this->expect_reference(lists, {.score = rule, .stride = static_cast<std::uint32_t>(1 + objects / 3)},
                               {k});
    }
}

TYPED_TEST(rank_aggregation_places, a_set_is_queried_many_times_by_every_rule) {
    auto lists = make_lists<float>(list_kind::anti_correlated, 20'000, 2, 12);
    ranked_list_set set = placed(lists, this->ctx());
    for (int round = 0; round < 2; ++round)
        for (const aggregate rule : every_rule)
            this->expect_reference(lists, {.score = rule, .stride = 9'000}, {4, 70}, set);
}

TYPED_TEST(rank_aggregation_places, stops_early_where_it_can) {
    for (const list_kind kind : {list_kind::uniform, list_kind::correlated, list_kind::anti_correlated}) {
        const auto lists = make_lists<float>(kind, 60'000, 4, 6);
        const aggregation_result found = placed(lists, this->ctx()).top_k({.k = 5});
        EXPECT_EQ(found.read_all, kind == list_kind::anti_correlated);
        for (const std::uint64_t depth : found.depths)
            EXPECT_LT(depth, kind == list_kind::anti_correlated ? 60'001u : 30'000u);
    }
    // Chance would complete no object of eight lists in time, but these agree.
    const auto agreeing = make_lists<float>(list_kind::correlated, 60'000, 8, 6);
    EXPECT_FALSE(placed(agreeing, this->ctx()).top_k({.k = 5}).read_all);
}

TYPED_TEST(rank_aggregation_places, one_shot_gives_the_same_and_says_where) {
    const auto lists = make_lists<float>(list_kind::uniform, 3'000, 4, 9);
    const auto views = lists.views();
    for (const aggregation_method method : everywhere) {
        const aggregation_options options{.k = 9, .method = method};
        const auto found = top_k<float>(std::span<const ranked_list_view<float>>(views), lists.objects,
                                        options, this->ctx());
        EXPECT_EQ(pairs_of(found), reference::best_of_lists<float>(views, options));
        const bool cpu =
            std::is_same_v<TypeParam, cpu_one_thread> || std::is_same_v<TypeParam, cpu_some_threads>;
        EXPECT_EQ(found.place.substr(0, cpu ? 3 : 5), cpu ? "cpu" : "cuda:");
    }
}

TYPED_TEST(rank_aggregation_places, little_memory_is_enough) {
    const auto lists = make_lists<float>(list_kind::heavy_tailed, 30'000, 4, 13);
    context ctx = this->ctx();
    ctx.gpu_memory_bytes = 1'700'000;  // the lists take 960,000
    ranked_list_set set = placed(lists, ctx);
    const auto views = lists.views();
    for (const aggregate rule : {aggregate::sum, aggregate::rrf}) {
        const aggregation_options options{.k = 50, .score = rule};
        EXPECT_EQ(pairs_of(set.top_k(options)), reference::best_of_lists<float>(views, options));
    }
}

/// Three lists in an arithmetic order, the second with half of the objects.
ranked_lists<float> long_lists(std::uint32_t objects) {
    constexpr std::uint64_t steps[] = {1'000'003, 7'368'787, 15'485'863};  // primes: every object comes once
    ranked_lists<float> lists;
    lists.objects = objects;
    for (std::size_t i = 0; i < 3; ++i) {
        const std::uint32_t size = i == 1 ? objects / 2 : objects;
        std::vector<std::uint32_t> ids(size);
        std::vector<float> scores(size);
        for (std::uint64_t at = 0; at < size; ++at) {
            ids[at] = static_cast<std::uint32_t>(at * steps[i] % objects);
            scores[at] = static_cast<float>(objects - at);
        }
        lists.ids.push_back(std::move(ids));
        lists.scores.push_back(std::move(scores));
    }
    return lists;
}

std::vector<reference::scored> best_of_long_lists(const ranked_lists<float>& lists, aggregate rule,
                                                  std::uint32_t k) {
    const std::uint32_t objects = lists.objects;
    std::vector<std::vector<double>> values(3, std::vector<double>(objects, 0));
    for (std::size_t i = 0; i < 3; ++i)
        for (std::size_t at = 0; at < lists.ids[i].size(); ++at)
            values[i][lists.ids[i][at]] =
                rule == aggregate::rrf ? 1 / (60 + static_cast<double>(at + 1)) : lists.scores[i][at];
    std::vector<reference::scored> best(objects);
    for (std::uint32_t o = 0; o < objects; ++o)
        best[o] = {reference::aggregate_of({values[0][o], values[1][o], values[2][o]}, {1, 1, 1}, rule), o};
    const auto better = [](const auto& a, const auto& b) {
        return a.score != b.score ? a.score > b.score : a.id < b.id;
    };
    std::ranges::nth_element(best, best.begin() + k, better);
    best.resize(k);
    std::ranges::sort(best, better);
    return best;
}

/// More objects than cells are written directly to their columns on a GPU.
TYPED_TEST(rank_aggregation_places, columns_longer_than_a_cache) {
    if (tested_with().small_sizes) return;
    const ranked_lists<float> lists = long_lists((1u << 21) + 70'003);
    ranked_list_set set = placed(lists, this->ctx());
    for (const aggregate rule : {aggregate::max, aggregate::sum, aggregate::min, aggregate::rrf}) {
        const std::uint32_t k = rule == aggregate::rrf ? lists.objects / 3 : 1000;
        EXPECT_TRUE(pairs_of(set.top_k({.k = k, .score = rule})) == best_of_long_lists(lists, rule, k))
            << aggregate_names[static_cast<std::size_t>(rule)];
    }
}

/// More objects than 1,024 buckets of a GPU have cells for: larger buckets, or ranges of objects. `min` reads everything: by
/// columns of scores for so great a k, then by them again, and reciprocal ranks by windows.
TYPED_TEST(rank_aggregation_places, columns_longer_than_small_buckets) {
    if (tested_with().small_sizes || std::is_same_v<typename TypeParam::place_type, cpu_place>)
        GTEST_SKIP() << "for GPUs";
    const ranked_lists<float> lists = long_lists((1u << 24) + 700'001);
    ranked_list_set set = placed(lists, this->ctx());
    for (const auto& [rule, k] :
         {std::pair(aggregate::min, 40'000u), {aggregate::min, 1000u}, {aggregate::rrf, 1000u}})
        EXPECT_TRUE(pairs_of(set.top_k({.k = k, .score = rule})) == best_of_long_lists(lists, rule, k))
            << aggregate_names[static_cast<std::size_t>(rule)] << ", k " << k;
}

/// The same with windows of ranks first, which later calls have.
TYPED_TEST(rank_aggregation_places, windows_longer_than_small_buckets) {
    if (tested_with().small_sizes || std::is_same_v<typename TypeParam::place_type, cpu_place>)
        GTEST_SKIP() << "for GPUs";
    const ranked_lists<float> lists = long_lists((1u << 24) + 700'001);
    ranked_list_set set = placed(lists, this->ctx());
    for (const aggregate rule : {aggregate::min, aggregate::rrf, aggregate::mean, aggregate::max})
        EXPECT_TRUE(pairs_of(set.top_k({.k = 1000, .score = rule})) == best_of_long_lists(lists, rule, 1000))
            << aggregate_names[static_cast<std::size_t>(rule)];
}

/// Bounds decide nothing: half of the objects have the best score.
TYPED_TEST(rank_aggregation_places, long_lists_of_equal_scores) {
    if (tested_with().small_sizes || std::is_same_v<typename TypeParam::place_type, cpu_place>)
        GTEST_SKIP() << "for GPUs";
    ranked_lists<float> lists = long_lists((1u << 24) + 11);
    for (std::vector<float>& scores : lists.scores) std::ranges::fill(scores, 0.5f);
    ranked_list_set set = placed(lists, this->ctx());
    for (int call = 0; call < 2; ++call)
        EXPECT_TRUE(pairs_of(set.top_k({.k = 1000})) == best_of_long_lists(lists, aggregate::sum, 1000));
}

/// What long lists take, with lists of all lengths.
TYPED_TEST(rank_aggregation_places, bounds_of_windows_leave_the_best) {
    if constexpr (std::is_same_v<typename TypeParam::place_type, cpu_place>) {
        GTEST_SKIP() << "for GPUs";
    } else {
        using namespace rank_aggregation_detail;
        const bool few = tested_with().small_sizes;
        const auto expect_best = [&]<class Score>(list_kind kind, std::uint32_t objects, std::size_t count) {
            auto made = make_lists<Score>(kind, objects, count, objects + count);
            for (const aggregate rule : every_rule) {
                if (few && rule != aggregate::sum && rule != aggregate::rrf) continue;
                give_weights(made, rule);
                const auto views = made.views();
                std::vector<list_rule> rules;
                for (const auto& view : views) rules.push_back({view.weight, view.floor});
                device_lists<Score> held(this->place(), views, objects, true);
                for (const std::uint32_t k : {1u, 10u, 700u}) {
                    if (few && k != 10) continue;
                    const aggregation_options options{.k = k, .score = rule};
                    const auto expected = reference::best_of_lists<Score>(views, options);
                    device_result found;
                    const bool decided = find_by_windows(held, scoring(rules, options), k, found);
                    const bool differ = kind == list_kind::uniform || kind == list_kind::correlated ||
                                        kind == list_kind::heavy_tailed;
                    if (differ) {
                        EXPECT_EQ(decided, expected.size() == k) << objects << " objects, k " << k;
                    }
                    if (!decided) continue;
                    ASSERT_EQ(found.ids.size(), expected.size());
                    for (std::size_t j = 0; j < k; ++j) {
                        ASSERT_EQ(found.ids[j], expected[j].id)
                            << aggregate_names[static_cast<std::size_t>(rule)] << " of " << count
                            << " lists of " << objects << ", kind " << static_cast<int>(kind) << ", k " << k;
                        ASSERT_EQ(found.scores[j], expected[j].score);
                    }
                }
            }
        };
        for (const list_kind kind : every_list_kind) {
            if (few) {
                if (kind != list_kind::uniform && kind != list_kind::tied && kind != list_kind::partial)
                    continue;
                for (const std::uint32_t objects : {33u, 9'000u})
                    expect_best.template operator()<float>(kind, objects, 3);
                continue;
            }
            for (const std::uint32_t objects : {1u, 31u, 33u, 257u, 4097u, 60'000u})
                for (const std::size_t count : {1u, 3u, 4u, 9u})
                    expect_best.template operator()<float>(kind, objects, count);
            expect_best.template operator()<double>(kind, 5'000, 5);
        }
        if (!few) expect_best.template operator()<double>(list_kind::correlated, 20'000, 64);
    }
}

TYPED_TEST(rank_aggregation_places, products_beyond_doubles_keep_their_order) {
    ranked_lists<double> lists;
    lists.objects = 2;
    lists.ids = {{0, 1}, {0, 1}, {1, 0}};
    lists.scores = {{1e200, 1}, {1e200, 2}, {3, 0}};
    this->expect_reference(lists, {.score = aggregate::product}, {1, 2});
    EXPECT_EQ(placed(lists, this->ctx()).top_k({.score = aggregate::product}).scores,
              (std::vector<double>{6, 0}));
    lists.scores[2][1] = 1;
    for (const aggregation_method method : everywhere)
        EXPECT_THROW(placed(lists, this->ctx()).top_k({.score = aggregate::product, .method = method}),
                     invalid_value);
}

TYPED_TEST(rank_aggregation_places, what_no_double_is_is_refused) {
    ranked_lists<double> lists;
    lists.objects = 2;
    lists.ids = {{0, 1}, {0, 1}};
    lists.scores = {{1e308, 1}, {1e308, 2}};
    for (const aggregation_method method : everywhere)
        EXPECT_THROW(placed(lists, this->ctx()).top_k({.method = method}), invalid_value);
    EXPECT_NO_THROW(placed(lists, this->ctx()).top_k({.score = aggregate::max}));
    lists.scores = {{2, 1}, {2, 1}};
    lists.weights = {1e308, 1e308};
    EXPECT_THROW(placed(lists, this->ctx()).top_k({.score = aggregate::mean}), usage_error);
}

TYPED_TEST(rank_aggregation_places, nothing_to_find) {
    ranked_lists<double> lists;
    lists.ids = {{}, {}};
    lists.scores = {{}, {}};
    for (const std::uint32_t objects : {0u, 5u}) {
        lists.objects = objects;
        for (const aggregation_method method : everywhere) {
            const aggregation_result found = placed(lists, this->ctx()).top_k({.method = method});
            EXPECT_TRUE(found.ids.empty());
            EXPECT_EQ(found.depths, (std::vector<std::uint64_t>{0, 0}));
        }
    }
}

TYPED_TEST(rank_aggregation_places, what_is_wrong_in_a_list_is_named) {
    const auto expect_fault = [&](const ranked_lists<double>& lists, std::size_t list, std::uint64_t position,
                                  const std::string& reason) {
        const auto views = lists.views();
        for (const aggregation_method method : everywhere) {
            for (const bool set : {false, true}) {
                try {
                    const std::span<const ranked_list_view<double>> span(views);
                    if (set)
                        placed(lists, this->ctx()).top_k({.k = 5, .method = method});
                    else
                        top_k<double>(span, lists.objects, {.k = 5, .method = method}, this->ctx());
                    FAIL() << reason;
                } catch (const list_fault& fault) {
                    EXPECT_EQ(fault.list(), list);
                    EXPECT_EQ(fault.position(), position);
                    EXPECT_EQ(fault.what(), reason);
                }
            }
        }
    };
    for_each_fault(expect_fault);
    // Below the point where a method that reads entry by entry ends.
    ranked_lists<double> bad;
    bad.objects = 5;
    bad.ids = {{0, 1, 2}, {4, 3, 2, 1, 0, 3, 3}};
    bad.scores = {{9, 8, 7}, {7, 6, 5, 4, 3, 2, 1}};
    expect_fault(bad, 1, 5, "the id occurs twice in the list");
}

TYPED_TEST(rank_aggregation_places, methods_without_kernels_run_on_the_cpu_only) {
    const auto lists = make_lists<float>(list_kind::uniform, 50, 2, 14);
    const auto views = lists.views();
    const std::span<const ranked_list_view<float>> span(views);
    const aggregation_options options{.k = 5, .method = aggregation_method::lara};
    if constexpr (std::is_same_v<typename TypeParam::place_type, cpu_place>) {
        EXPECT_EQ(pairs_of(placed(lists, this->ctx()).top_k(options)),
                  reference::best_of_lists<float>(span, options));
    } else {
        for (const bool set : {false, true}) {
            try {
                if (set)
                    placed(lists, this->ctx()).top_k(options);
                else
                    top_k<float>(span, lists.objects, options, this->ctx());
                FAIL();
            } catch (const usage_error& error) {
                EXPECT_STREQ(error.what(), "top-k of lists by lara runs on cpu only");
            }
        }
    }
    EXPECT_EQ(top_k<float>(span, lists.objects, options, context::best()).place.substr(0, 3), "cpu");
}

/// Sets on one to three places, of the CPU, and of the first GPU several times.
TYPED_TEST(rank_aggregation_places, several_places_find_the_same) {
    using rank_aggregation_detail::make_list_set;
    std::mt19937_64 random(8);
    for (int round = 0; round < (tested_with().small_sizes ? 5 : 40); ++round) {
        const auto objects = static_cast<std::uint32_t>(round < 4 ? round : 1 + random() % 3000);
        const list_kind kind = every_list_kind[random() % std::size(every_list_kind)];
        auto lists = make_lists<float>(kind, objects, 1 + random() % 6, random());
        const aggregate rule = every_rule[random() % std::size(every_rule)];
        give_weights(lists, rule);
        const auto views = lists.views();
        const aggregation_options options{.k = static_cast<std::uint32_t>(1 + random() % 200), .score = rule};
        const auto expected = reference::best_of_lists<float>(views, options);
        for (const std::size_t count : {1, 2, 3}) {
            chosen_device chosen = choose_device(TypeParam::ctx(), "this test");
            chosen.more = further_places(chosen, count - 1);
            const auto set = make_list_set<float>(views, lists.objects, TypeParam::ctx(), chosen, 0);
            for (int call = 0; call < 2; ++call) {  // columns may have been made
                const aggregation_result found = set->top_k(options);
                ASSERT_EQ(pairs_of(found), expected) << count << " places, " << objects << " objects";
                ASSERT_EQ(found.depths.size(), views.size());
                for (std::size_t i = 0; i < views.size(); ++i)
                    ASSERT_LE(found.depths[i], views[i].ids.size());
            }
        }
    }
}

TYPED_TEST(rank_aggregation_places, several_places_refuse_what_one_refuses) {
    using rank_aggregation_detail::make_list_set;
    if (std::is_same_v<typename TestFixture::place_type, cpu_place>)
        GTEST_SKIP() << "the CPU reads only a part of a list";
    const std::vector<std::uint32_t> ids{0, 5, 2, 3}, twice{0, 5, 2, 5}, beyond{0, 6, 1, 2};
    const std::vector<float> scores{4, 3, 2, -1}, rising{4, 2, 3, 1};
    chosen_device chosen = choose_device(TypeParam::ctx(), "this test");
    const auto fault_of = [&](const std::vector<std::uint32_t>& of, const std::vector<float>& by) {
        const ranked_list_view<float> list[] = {{ids, scores, 1, -1}, {of, by}};
        try {
            make_list_set<float>(list, 6, TypeParam::ctx(), chosen, 0)->top_k({.k = 2});
        } catch (const list_fault& fault) {
            return std::string(fault.what());
        }
        return std::string("none");
    };
    for (const auto& [of, by] : {std::pair(twice, scores), {beyond, scores}, {ids, rising}, {ids, scores}}) {
        chosen.more.clear();
        const std::string one = fault_of(of, by);
        EXPECT_NE(one, "none");  // the last has a score below its floor
        chosen.more = further_places(chosen, 1);
        EXPECT_EQ(fault_of(of, by), one);
    }
}

TYPED_TEST(rank_aggregation_places, several_copy_the_lists_of_one_call) {
    for (const std::uint32_t objects :
         {0u, 1u, 300u, 20'001u, tested_with().small_sizes ? 30'000u : 200'003u}) {
        const auto lists = make_lists<float>(list_kind::partial, objects, 2, 15);
        const auto views = lists.views();
        const std::span<const ranked_list_view<float>> span(views);
        const aggregation_options options{.k = 40};
        const aggregation_result expected = top_k<float>(span, objects, options, this->ctx());
        for (const std::size_t more : {0u, 1u, 2u}) {
            chosen_device chosen = choose_device(this->ctx(), "this test");
            chosen.more = further_places(chosen, more);
            const aggregation_result found = rank_aggregation_detail::top_k_of_gathered<float>(
                span, objects, options, this->ctx(), chosen);
            EXPECT_EQ(pairs_of(found), pairs_of(expected)) << objects << " objects, " << more << " more";
            EXPECT_EQ(found.depths.size(), expected.depths.size());
        }
    }
    const auto expect_fault = [&](const ranked_lists<double>& lists, std::size_t list, std::uint64_t position,
                                  const std::string& reason) {
        const auto views = lists.views();
        chosen_device chosen = choose_device(this->ctx(), "this test");
        chosen.more = further_places(chosen, 1);
        try {
            rank_aggregation_detail::top_k_of_gathered<double>(views, lists.objects, {.k = 5}, this->ctx(),
                                                               chosen);
            FAIL() << reason;
        } catch (const list_fault& fault) {
            EXPECT_EQ(fault.list(), list);
            EXPECT_EQ(fault.position(), position);
            EXPECT_EQ(fault.what(), reason);
        }
    };
    for_each_fault(expect_fault);
}

TEST(lists_by_objects, keep_their_order) {
    cpu_place host(context::cpu(3));
    const auto lists = make_lists<float>(list_kind::partial, 300'000, 3, 12);
    const auto views = lists.views();
    const auto parts = rank_aggregation_detail::cut_by_objects<float>(host, views, lists.objects, 4);
    for (std::size_t i = 0; i < views.size(); ++i) {
        std::vector<std::size_t> next(parts.size());
        for (std::size_t at = 0; at < views[i].ids.size(); ++at) {
            std::size_t r = 0;
            while (views[i].ids[at] >= parts[r].first + parts[r].objects) ++r;
            ASSERT_EQ(parts[r].ids[i].span()[next[r]] + parts[r].first, views[i].ids[at]);
            ASSERT_EQ(parts[r].scores[i].span()[next[r]++], views[i].scores[at]);
        }
        for (std::size_t r = 0; r < parts.size(); ++r) EXPECT_EQ(next[r], parts[r].ids[i].size());
    }
}

}  // namespace
}  // namespace quern::rank_aggregation_places_test
