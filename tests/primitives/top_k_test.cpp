// SPDX-License-Identifier: Apache-2.0
#include "primitives/top_k/top_k.hpp"

#include <gmock/gmock.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>

#include "on_each_place.hpp"
#include "quern/base/error.hpp"
#include "reference/selection_reference.hpp"

namespace quern::top_k_test {
namespace {

using primitives::best;
using numbers = std::vector<std::uint32_t>;

numbers positions_of(std::size_t n) {
    numbers ids(n);
    std::iota(ids.begin(), ids.end(), 0u);
    return ids;
}

numbers shuffled_ids(std::size_t n, std::uint64_t seed) {
    numbers ids(n);
    for (std::size_t i = 0; i < n; ++i)  // all different, of every magnitude, the last one included
        ids[i] = static_cast<std::uint32_t>(0xffffffffu - i * 2654435761u);
    std::shuffle(ids.begin(), ids.end(), std::mt19937_64(seed));
    return ids;
}

/// Bits, not values: −0 is not +0 here.
template <class Key>
void expect_same(const std::vector<Key>& got, const std::vector<Key>& expected, const std::string& what) {
    ASSERT_EQ(got.size(), expected.size()) << what;
    for (std::size_t j = 0; j < got.size(); ++j) {
        ASSERT_EQ(std::memcmp(&got[j], &expected[j], sizeof(Key)), 0)
            << what << ": place " << j << " has " << got[j] << ", not " << expected[j];
    }
}

template <class Tested>
class top_k_test : public on_place<Tested> {
  public:
    template <class Key>
    reference::ranked<Key> select(const std::vector<Key>& keys, const numbers* ids, std::size_t k,
                                  best which) {
        auto all = this->array(keys);
        auto best_keys = this->template output<Key>(k);
        auto best_ids = this->template output<std::uint32_t>(k);
        if (ids == nullptr) {
            primitives::top_k(this->place(), all.view(), best_keys.span(), best_ids.span(), which);
        } else {
            auto names = this->array(*ids);
            primitives::top_k(this->place(), all.view(), names.view(), best_keys.span(), best_ids.span(),
                              which);
        }
        this->place().synchronise();
        expect_same(all.host(), keys, "the keys themselves");
        return {best_keys.host(), best_ids.host()};
    }

    /// Each k in turn, where ids are positions, or given ones in no order.
    template <class Key>
    void check(const std::vector<Key>& keys, const std::vector<std::size_t>& ks, best which,
               const std::string& what, bool given_ids = false) {
        const numbers ids = given_ids ? shuffled_ids(keys.size(), keys.size()) : positions_of(keys.size());
        const auto sorted = reference::top_k<Key>(keys, ids, keys.size(), which);
        for (const std::size_t k : ks) {
            SCOPED_TRACE(what + ", " + std::to_string(k) + " of " + std::to_string(keys.size()) +
                         (which == best::least ? ", least" : ", greatest") +
                         (given_ids ? ", ids given" : ""));
            const auto got = select(keys, given_ids ? &ids : nullptr, k, which);
            const auto length = static_cast<std::ptrdiff_t>(k);
            expect_same(got.ids, numbers(sorted.ids.begin(), sorted.ids.begin() + length), "ids");
            expect_same(got.keys, std::vector<Key>(sorted.keys.begin(), sorted.keys.begin() + length),
                        "keys");
        }
    }
    template <class Key>
    void check_ids(const std::vector<Key>& keys, const std::vector<std::size_t>& ks, best which) {
        check(keys, ks, which, "random", true);
    }

    template <class Key>
    void check_rows(const std::vector<Key>& keys, std::size_t columns, std::size_t k, best which) {
        const std::size_t rows = keys.size() / columns;
        SCOPED_TRACE(std::to_string(k) + " of each of " + std::to_string(rows) + " rows of " +
                     std::to_string(columns));
        auto all = this->array(keys);
        auto best_keys = this->template output<Key>(rows * k);
        auto best_ids = this->template output<std::uint32_t>(rows * k);
        primitives::batched_top_k(this->place(), all.view(), columns, k, best_keys.span(), best_ids.span(),
                                  which);
        this->place().synchronise();
        reference::ranked<Key> expected;
        const numbers positions = positions_of(columns);
        for (std::size_t r = 0; r < rows; ++r) {
            const auto row =
                reference::top_k<Key>(std::span(keys).subspan(r * columns, columns), positions, k, which);
            expected.keys.insert(expected.keys.end(), row.keys.begin(), row.keys.end());
            expected.ids.insert(expected.ids.end(), row.ids.begin(), row.ids.end());
        }
        expect_same(best_ids.host(), expected.ids, "ids");
        expect_same(best_keys.host(), expected.keys, "keys");
    }
};
TYPED_TEST_SUITE(top_k_test, tested_places, tested_place_names);

/// From one to all, and around the capacity of a block.
std::vector<std::size_t> depths(std::size_t n) {
    std::vector<std::size_t> ks;
    for (const std::size_t k :
         {std::size_t{0}, std::size_t{1}, std::size_t{2}, std::size_t{33}, std::size_t{100},
          std::size_t{1000}, std::size_t{1025}, std::size_t{10'000}, n / 2, n - n / 10, n})
        if (k <= n && (ks.empty() || k > ks.back())) ks.push_back(k);
    return ks;
}

template <class Test, class Key>
void every_size(Test& test, std::size_t largest) {
    for (const std::size_t size : test_sizes()) {
        const std::size_t n = std::min(size, largest);
        const auto keys = random_values<Key>(n, n + sizeof(Key));
        std::vector<std::size_t> ks = depths(n);
        if (n > 1'000'000) ks.resize(ks.size() - 3);
        test.check(keys, ks, best::greatest, "random");
        if (n < 1'000'000) test.check(keys, ks, best::least, "random");
        test.check_ids(keys, ks, n % 2 == 0 ? best::greatest : best::least);
    }
}

TYPED_TEST(top_k_test, matches_reference_float) {
    every_size<TestFixture, float>(*this, large_size());
}
TYPED_TEST(top_k_test, matches_reference_double) {
    every_size<TestFixture, double>(*this, 100'003);
}
TYPED_TEST(top_k_test, matches_reference_uint32) {
    every_size<TestFixture, std::uint32_t>(*this, 100'003);
}
TYPED_TEST(top_k_test, matches_reference_int32) {
    every_size<TestFixture, std::int32_t>(*this, 100'003);
}
TYPED_TEST(top_k_test, matches_reference_uint64) {
    every_size<TestFixture, std::uint64_t>(*this, 100'003);
}
TYPED_TEST(top_k_test, matches_reference_int64) {
    every_size<TestFixture, std::int64_t>(*this, 100'003);
}

/// Orders and ties that mislead a threshold, a histogram of digits, or a buffer of fixed size.
template <class Key>
std::vector<std::pair<std::string, std::vector<Key>>> hard_keys(std::size_t n) {
    std::vector<Key> rising(n), equal(n, Key(7)), two(n), steps(n), periodic(n), crowded(n), zeros(n);
    std::mt19937_64 random(n);
    for (std::size_t i = 0; i < n; ++i) {
        rising[i] = static_cast<Key>(i);
        two[i] = static_cast<Key>(random() % 1000 == 0);
        steps[i] = static_cast<Key>(i / 1000);
        periodic[i] = static_cast<Key>((i % 610) * 1000 + i % 7);
        crowded[i] = static_cast<Key>(1'000'000'000 + random() % 3);  // neighbours in a float's last bits
        zeros[i] = static_cast<Key>(random() % 4 == 0 ? 0.0 : -0.0);
    }
    std::vector<Key> falling(rising.rbegin(), rising.rend());
    std::vector<Key> late = two;  // the best are together, where few samples are
    for (std::size_t i = n / 2; i < std::min(n, n / 2 + 5000); ++i) late[i] = static_cast<Key>(2 + i % 5);
    return {{"rising", rising},   {"falling", falling}, {"equal", equal},
            {"two values", two},  {"steps", steps},     {"periodic", periodic},
            {"crowded", crowded}, {"zeros", zeros},     {"together", late}};
}

TYPED_TEST(top_k_test, hard_orders) {
    const std::size_t n = large_size() / 5;
    for (const auto& [name, keys] : hard_keys<float>(n)) {
        const std::vector<std::size_t> ks = {1, 100, 10'000 % n};
        this->check(keys, ks, best::greatest, name);
        this->check(keys, ks, best::least, name);
        this->check(keys, {1000}, best::greatest, name, true);
    }
    for (const auto& [name, keys] : hard_keys<std::int64_t>(n / 2)) {
        this->check(keys, {1000}, best::least, name, true);
    }
}

TYPED_TEST(top_k_test, large_k) {
    const std::size_t n = large_size();
    const auto keys = random_values<float>(n, 8);
    this->check(keys, {n / 30, n / 9, n / 4, n}, best::greatest, "random");
    this->check_ids(random_values<double>(n / 6, 9), {n / 30, n / 8}, best::least);
    this->check(std::vector<float>(n / 2, 1.0f), {n / 9}, best::least, "equal");
}

TYPED_TEST(top_k_test, refuses_nan) {
    constexpr double nan = std::numeric_limits<double>::quiet_NaN();
    for (const std::size_t n : {std::size_t{1}, std::size_t{33}, std::size_t{4097}, large_size()}) {
        for (const std::size_t at : {std::size_t{0}, n / 2, n - 1}) {
            for (const std::size_t k : {std::size_t{1}, (n + 1) / 2, n}) {
                auto keys = random_values<double>(n, n);
                keys[at] = -nan;
                keys[n - 1] = nan;
                std::uint64_t position = n;
                try {
                    this->select(keys, nullptr, k, at % 2 == 0 ? best::least : best::greatest);
                } catch (const invalid_value& e) {
                    position = e.position();
                    EXPECT_EQ(std::string(e.what()), "key " + std::to_string(at) + " is not a number");
                }
                EXPECT_EQ(position, at) << "n " << n << ", k " << k;
            }
        }
    }
    this->check(random_values<double>(1000, 3), {10}, best::least, "after a refusal");
}

// Where a GPU keeps so many candidates that they are sorted, and where it sorts all keys; a CPU does both too.
TYPED_TEST(top_k_test, sorts_candidates_and_sorts_all) {
    const std::size_t n = tested_with().small_sizes ? 20'011 : 5'000'011;
    const auto keys = random_values<float>(n, 4);
    this->check(keys, {n / 33, n / 3}, best::greatest, "random");
    this->check_ids(keys, {n / 33, n / 3}, best::least);
    auto wrong = keys;
    wrong[n / 2 + 1] = wrong[n - 1] = std::numeric_limits<float>::quiet_NaN();
    const numbers ids = shuffled_ids(n, 1);
    for (const std::size_t k : {n / 33, n / 3}) {
        for (const numbers* given : {static_cast<const numbers*>(nullptr), &ids}) {
            EXPECT_THAT([&] { this->select(wrong, given, k, best::greatest); },
                        ::testing::Throws<invalid_value>(::testing::Property(
                            &invalid_value::position, static_cast<std::uint64_t>(n / 2 + 1))))
                << k << (given == nullptr ? "" : ", ids given");
        }
    }
}

/// The positions that a selection from n keys samples for its threshold, on every place: one of each of `sample` ranges, at
/// an offset of a simple formula. Distinctive keys only there mislead it. (The expectations do not depend on these
/// positions: with others, the sample would be right and the results the same.)
std::vector<std::size_t> sampled_positions(std::size_t n) {
    std::vector<std::size_t> all;
    const auto rounds = [n](std::size_t threads) { return std::clamp<std::size_t>(n / (4 * threads), 1, 4); };
    for (const std::size_t sample : {std::size_t{1024}, 1024 * rounds(1024), 8192 * rounds(8192)}) {
        for (std::size_t s = 0; s < sample && sample <= n; ++s) {  // a GPU's
            const float each = static_cast<float>(n) / static_cast<float>(sample);
            const auto hash = static_cast<std::uint32_t>(s * 2654435769u);
            const auto into = static_cast<std::size_t>(each * (static_cast<float>(hash >> 8) * 0x1p-24f));
            all.push_back(std::min(n * s / sample + into, n - 1));
        }
    }
    const std::size_t sample = std::clamp<std::size_t>(n / 256, 256, 1 << 15);
    std::uint64_t random = 0x9e3779b97f4a7c15;
    for (std::size_t s = 0; s < sample; ++s) {  // a CPU's
        random = random * 6364136223846793005 + 1442695040888963407;
        const std::size_t begin = n * s / sample, end = n * (s + 1) / sample;
        all.push_back(begin + (random >> 32) % (end - begin));
    }
    return all;
}

/// Keys where a sample only sees the worst (far too many are better than the estimate, and the best of all are among them),
/// or only the best (far too few are).
std::vector<std::pair<std::string, std::vector<float>>> misleading_keys(std::size_t n) {
    std::mt19937_64 random(n);
    const auto seen = sampled_positions(n);
    std::vector<float> worst(n, 1.0f), worst_of_many(n), highest(n), two(n, 0.0f);
    for (std::size_t i = 0; i < n; ++i) {
        worst_of_many[i] = static_cast<float>(1 + random() % 1'000'000);
        highest[i] = static_cast<float>(random() % 1000);
    }
    for (const std::size_t at : seen) {
        worst[at] = worst_of_many[at] = -static_cast<float>(random() % 1000);
        highest[at] = static_cast<float>(2000 + random() % 1'000'000);
        two[at] = 1.0f;
    }
    std::size_t hidden = n / 3;
    while (worst[hidden] != 1.0f) ++hidden;
    worst[hidden] = 2.0f;
    return {{"almost all equal, the sample worse", worst},
            {"the sample worse", worst_of_many},
            {"the sample better", highest},
            {"two values, the sample better", two}};
}

TYPED_TEST(top_k_test, samples_that_mislead) {
    const std::size_t n = tested_with().small_sizes ? 70'001 : 700'001;
    for (const auto& [name, keys] : misleading_keys(n)) {
        this->check(keys, {1, 100, 1000, n / 60}, best::greatest, name);
        this->check(keys, {1000}, best::greatest, name, true);
        std::vector<float> turned(keys.size());
        std::transform(keys.begin(), keys.end(), turned.begin(), [](float key) { return -key; });
        this->check(turned, {1000}, best::least, name);
        const std::vector<double> wide(keys.begin(), keys.end());
        this->check(wide, {1000}, best::greatest, name);
    }
}

TYPED_TEST(top_k_test, rows_whose_samples_mislead) {
    for (const std::size_t columns : {std::size_t{5001}, std::size_t{50'000}}) {
        for (const auto& [name, row] : misleading_keys(columns)) {
            SCOPED_TRACE(name);
            std::vector<float> keys;
            for (int r = 0; r < 7; ++r) keys.insert(keys.end(), row.begin(), row.end());
            this->check_rows(keys, columns, 1, best::greatest);
            this->check_rows(keys, columns, 100, best::greatest);
            this->check_rows(keys, columns, 1000, best::greatest);
        }
    }
}

TYPED_TEST(top_k_test, same_bits_every_time) {
    const auto keys = hard_keys<float>(large_size())[6].second;
    const auto first = this->select(keys, nullptr, 10'000, best::greatest);
    for (int again = 0; again < 5; ++again)
        EXPECT_EQ(this->select(keys, nullptr, 10'000, best::greatest).ids, first.ids);
}

TYPED_TEST(top_k_test, rows_match_reference) {
    const std::pair<std::size_t, std::size_t> shapes[] = {{1, 1},    {1000, 1},  {5, 2},       {100, 31},
                                                          {99, 32},  {3001, 33}, {7, 256},     {11, 1000},
                                                          {5, 1025}, {9, 4097},  {17, 10'007}, {3, 70'001}};
    for (const auto& [rows, columns] : shapes) {
        const auto keys = random_values<float>(rows * columns, columns);
        const auto wide = random_values<std::uint64_t>(rows * columns, columns);
        for (const std::size_t k : depths(columns)) {
            this->check_rows(keys, columns, k, k % 2 == 0 ? best::greatest : best::least);
            this->check_rows(wide, columns, k, k % 2 == 0 ? best::least : best::greatest);
        }
    }
}

TYPED_TEST(top_k_test, hard_rows) {
    for (const std::size_t columns : {std::size_t{32}, std::size_t{5000}, std::size_t{50'000}}) {
        const std::size_t rows = 100'000 / columns;
        for (const auto& [name, keys] : hard_keys<float>(rows * columns)) {
            SCOPED_TRACE(name);
            this->check_rows(keys, columns, 20, best::greatest);
            this->check_rows(keys, columns, columns / 3, best::least);
        }
    }
    const std::size_t n = large_size();
    this->check_rows(random_values<double>(n / 1000 * 1000, 1), n / 1000 * 500, 100,
                     best::greatest);                                               // few, huge
    this->check_rows(random_values<float>(n / 32 * 32, 1), 32, 5, best::greatest);  // many, short
}

TYPED_TEST(top_k_test, rows_refuse_nan_where_it_is_in_the_matrix) {
    for (const std::size_t columns :
         {std::size_t{1}, std::size_t{20}, std::size_t{3000}, std::size_t{150'000}}) {
        auto keys = random_values<float>(3 * columns, 1);
        keys[2 * columns] = keys[3 * columns - 1] = std::numeric_limits<float>::quiet_NaN();
        const std::size_t k = (columns + 9) / 10;
        auto all = this->array(keys);
        auto best_keys = this->template output<float>(3 * k);
        auto best_ids = this->template output<std::uint32_t>(3 * k);
        try {
            primitives::batched_top_k(this->place(), all.view(), columns, k, best_keys.span(),
                                      best_ids.span());
            this->place().synchronise();
            ADD_FAILURE() << columns;
        } catch (const invalid_value& e) {
            EXPECT_EQ(e.position(), 2 * columns);
        }
    }
}

TYPED_TEST(top_k_test, refuses_sizes_that_do_not_fit) {
    const auto keys = this->array(std::vector<float>{1, 2, 3});
    const auto ids = this->array(numbers{1, 2});
    auto out = this->template output<float>(4);
    auto out_ids = this->template output<std::uint32_t>(4);
    const auto words = [&](std::size_t best_keys, std::size_t best_ids) -> std::string {
        try {
            primitives::top_k(this->place(), keys.view(), out.span().first(best_keys),
                              out_ids.span().first(best_ids));
        } catch (const usage_error& e) {
            return e.what();
        }
        return "accepted";
    };
    EXPECT_EQ(words(4, 4), "top_k: keys has 3 entries, but 4 are needed");
    EXPECT_EQ(words(2, 3), "top_k: best_ids has 3 entries, but best_keys has 2");
    EXPECT_EQ(words(3, 3), "accepted");
    EXPECT_THROW(primitives::top_k(this->place(), keys.view(), ids.view(), out.span().first(1),
                                   out_ids.span().first(1)),
                 usage_error);
    const auto row_words = [&](std::size_t columns, std::size_t k, std::size_t results) -> std::string {
        try {
            primitives::batched_top_k(this->place(), keys.view(), columns, k, out.span().first(results),
                                      out_ids.span().first(results));
        } catch (const usage_error& e) {
            return e.what();
        }
        return "accepted";
    };
    EXPECT_EQ(row_words(2, 1, 1), "batched_top_k: 3 keys are no rows of 2 columns");
    EXPECT_EQ(row_words(0, 0, 0), "batched_top_k: 3 keys are no rows of 0 columns");
    EXPECT_EQ(row_words(3, 4, 4), "batched_top_k: the best 4 of 3 columns are requested");
    EXPECT_EQ(row_words(1, 1, 2), "batched_top_k: best_keys has 2 entries, but 3 rows of 1 are requested");
    EXPECT_EQ(row_words(1, 1, 3), "accepted");
    this->place().synchronise();
}

TYPED_TEST(top_k_test, no_columns) {
    const auto keys = this->array(std::vector<float>{});
    auto out = this->template output<float>(0);
    auto out_ids = this->template output<std::uint32_t>(0);
    EXPECT_NO_THROW({
        primitives::batched_top_k(this->place(), keys.view(), 0, 0, out.span(), out_ids.span());
        this->place().synchronise();
    });
}

TYPED_TEST(top_k_test, property_any_keys_any_k) {
    EXPECT_TRUE(rc::check([&] {
        const auto few = *rc::gen::inRange<std::uint64_t>(1, 1000);
        const auto n = *rc::gen::inRange<std::size_t>(1, 6000);
        std::mt19937_64 random(*rc::gen::arbitrary<std::uint64_t>());
        std::vector<float> keys(n);
        for (float& key : keys) key = static_cast<float>(random() % few) - static_cast<float>(few / 2);
        const auto k = *rc::gen::inRange<std::size_t>(1, n + 1);
        this->check(keys, {k}, *rc::gen::element(best::least, best::greatest), "any");
        this->check_ids(keys, {k}, *rc::gen::element(best::least, best::greatest));
        const auto columns = *rc::gen::inRange<std::size_t>(1, n + 1);
        keys.resize(n / columns * columns);
        this->check_rows(keys, columns, (columns + k - 1) % columns, best::greatest);
        RC_ASSERT(!this->HasFailure());
    }));
}

}  // namespace
}  // namespace quern::top_k_test
