// SPDX-License-Identifier: Apache-2.0
// Merging against std::stable_sort of the concatenated runs, bit by bit: for sorted runs, a stable sort of them is the
// stable merge. Any number of runs, empty ones between them, ties that cross runs, both zeros.
#include "primitives/merge/merge.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <random>

#include "on_each_place.hpp"
#include "primitives/merge/rank_split.hpp"
#include "quern/base/error.hpp"
#include "reference/sort_reference.hpp"
#include "sort_data.hpp"

namespace quern::merge_test {
namespace {

using primitives::order;
using reference::stored_bits;

/// Keys in runs, each sorted; run r is [offsets[r], offsets[r + 1]).
template <class Key>
struct run_data {
    std::vector<Key> keys;
    std::vector<std::uint64_t> offsets;
};

template <class Key>
run_data<Key> runs_of(std::vector<Key> keys, std::vector<std::uint64_t> offsets, order direction) {
    for (std::size_t r = 0; r + 1 < offsets.size(); ++r) {
        const auto begin = keys.begin() + static_cast<std::ptrdiff_t>(offsets[r]);
        const auto end = keys.begin() + static_cast<std::ptrdiff_t>(offsets[r + 1]);
        std::stable_sort(begin, end,
                         [&](Key a, Key b) { return direction == order::ascending ? a < b : a > b; });
    }
    return {std::move(keys), std::move(offsets)};
}

/// Offsets of that many runs: about one in three empty, some giant.
std::vector<std::uint64_t> ragged_offsets(std::size_t runs, std::size_t items, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    std::vector<std::uint64_t> offsets;
    for (std::size_t r = 0; r + 1 < runs; ++r) {
        offsets.push_back(random() % 3 == 0 && !offsets.empty() ? offsets.back() : random() % (items + 1));
    }
    offsets.push_back(0);
    if (runs != 0) offsets.push_back(items);
    std::sort(offsets.begin(), offsets.end());
    return offsets;
}

template <class Tested>
class merge_test : public on_place<Tested> {
  protected:
    template <class Value, class Key>
    void expect_pairs_merged(const run_data<Key>& runs, const std::vector<std::size_t>& positions,
                             order direction, const std::string& what) {
        const auto values = distinct_values<Value>(runs.keys.size());
        const auto keys_in = this->array(runs.keys);
        const auto values_in = this->array(values);
        auto keys_out = this->template output<Key>(runs.keys.size());
        auto values_out = this->template output<Value>(runs.keys.size());
        primitives::merge_pairs<Key, Value>(this->place(), keys_in.view(), values_in.view(), runs.offsets,
                                            keys_out.span(), values_out.span(), direction);
        EXPECT_TRUE(stored_bits(keys_out.host()) ==
                    stored_bits(reference::taken_in_order(std::span<const Key>(runs.keys), positions)))
            << "keys of " << what;
        EXPECT_TRUE(values_out.host() == reference::taken_in_order(std::span<const Value>(values), positions))
            << "values of " << what;
        EXPECT_TRUE(stored_bits(keys_in.host()) == stored_bits(runs.keys)) << "the input of " << what;
    }

    template <class Key>
    void expect_merged(const run_data<Key>& runs, order direction, const std::string& about) {
        const std::string what = about + ": " + std::to_string(runs.keys.size()) + " of " + type_name<Key>() +
                                 " in " + std::to_string(runs.offsets.size()) + " offsets, " +
                                 direction_name(direction);
        const auto positions = reference::sorted_positions(std::span<const Key>(runs.keys), direction);
        expect_pairs_merged<std::uint32_t>(runs, positions, direction, what);
        expect_pairs_merged<std::uint64_t>(runs, positions, direction, what);
        const auto keys_in = this->array(runs.keys);
        auto keys_out = this->template output<Key>(runs.keys.size());
        primitives::merge_keys<Key>(this->place(), keys_in.view(), runs.offsets, keys_out.span(), direction);
        EXPECT_TRUE(stored_bits(keys_out.host()) ==
                    stored_bits(reference::taken_in_order(std::span<const Key>(runs.keys), positions)))
            << "keys alone of " << what;
    }
};
TYPED_TEST_SUITE(merge_test, tested_places, tested_place_names);

TYPED_TEST(merge_test, matches_reference_for_any_number_of_runs) {
    for_each_key_type([&]<class Key>(Key) {
        for (const order direction : {order::ascending, order::descending}) {
            this->expect_merged(run_data<Key>{}, direction, "nothing at all");
            this->expect_merged(run_data<Key>{{}, {0}}, direction, "no run");
            this->expect_merged(run_data<Key>{{}, {0, 0, 0}}, direction, "empty runs");
            for (const std::size_t runs : {1u, 2u, 3u, 5u, 17u, 64u, 1000u}) {
                const std::size_t n = runs == 17 ? 70'001 : 5000 + runs;
                auto keys = random_values<Key>(n, runs);
                this->expect_merged(runs_of(std::move(keys), ragged_offsets(runs, n, runs), direction),
                                    direction, "random");
            }
        }
    });
}

TYPED_TEST(merge_test, matches_reference_at_every_size) {
    order direction = order::ascending;
    for (const std::size_t n : test_sizes()) {
        for (const std::size_t runs : {2u, 7u, 33u}) {
            direction = direction == order::ascending ? order::descending : order::ascending;
            this->expect_merged(
                runs_of(random_values<float>(n, n), ragged_offsets(runs, n, n + runs), direction), direction,
                "random");
        }
    }
    const std::size_t n = large_size();
    this->expect_merged(runs_of(random_values<std::uint64_t>(n, 1, 0), ragged_offsets(20, n, 5), direction),
                        direction, "large");
}

TYPED_TEST(merge_test, equal_keys_keep_the_order_of_the_runs) {
    for_each_key_type([&]<class Key>(Key) {
        for (const order direction : {order::ascending, order::descending}) {
            for (const std::size_t runs : {2u, 9u, 100u}) {
                const std::size_t n = 40'000;
                this->expect_merged(
                    runs_of(std::vector<Key>(n, Key(7)), ragged_offsets(runs, n, runs), direction), direction,
                    "equal");
                this->expect_merged(
                    runs_of(random_values<Key>(n, runs, 1), ragged_offsets(runs, n, runs), direction),
                    direction, "eight values");
            }
        }
    });
}

TYPED_TEST(merge_test, matches_reference_on_hard_data) {
    const std::size_t n = tested_with().small_sizes ? 5003 : 60'013;
    for_each_key_type([&]<class Key>(Key) {
        for (hard_data<Key>& data : hard_keys<Key>(n)) {
            const order direction = data.name.size() % 2 == 0 ? order::ascending : order::descending;
            this->expect_merged(runs_of(std::move(data.keys), ragged_offsets(13, n, n), direction), direction,
                                data.name);
        }
    });
}

// Runs that do not interleave, in the wrong order and in the right one; one giant run among tiny ones.
TYPED_TEST(merge_test, runs_that_lie_apart) {
    const std::size_t n = 100'000;
    std::vector<std::uint32_t> rising(n), falling(n);
    for (std::size_t i = 0; i < n; ++i) {
        rising[i] = static_cast<std::uint32_t>(i);
        falling[i] = static_cast<std::uint32_t>(n - i);
    }
    for (const std::size_t runs : {2u, 10u, 300u}) {
        const auto offsets = ragged_offsets(runs, n, 3);
        this->expect_merged(runs_of(rising, offsets, order::ascending), order::ascending, "in order");
        this->expect_merged(runs_of(falling, offsets, order::ascending), order::ascending, "in reverse");
    }
    std::vector<std::uint64_t> crumbs{0, 1, 2, 3, 4, n - 4, n - 3, n - 2, n - 1, n};
    this->expect_merged(runs_of(random_values<std::int64_t>(n, 4), crumbs, order::descending),
                        order::descending, "one giant run");
}

TYPED_TEST(merge_test, refuses_offsets_that_do_not_rise_and_sizes_that_differ) {
    using numbers = std::vector<std::uint32_t>;
    const auto keys = this->array(numbers{1, 2, 3});
    const auto values = this->array(numbers{4, 5, 6});
    auto out_keys = this->array(numbers{7, 7, 7});
    auto out_values = this->array(numbers{8, 8, 8});
    auto short_values = this->array(numbers{9, 9});
    const auto refused_at = [&](std::vector<std::uint64_t> offsets) -> std::uint64_t {
        try {
            primitives::merge_pairs<std::uint32_t, std::uint32_t>(
                this->place(), keys.view(), values.view(), offsets, out_keys.span(), out_values.span());
            this->place().synchronise();
        } catch (const invalid_value& e) {
            return e.position();
        }
        return 99;
    };
    EXPECT_EQ(refused_at({}), 0u);
    EXPECT_EQ(refused_at({1, 3}), 0u);
    EXPECT_EQ(refused_at({0, 2, 1, 3}), 1u);
    EXPECT_EQ(refused_at({0, 1, 4}), 1u);
    EXPECT_EQ(refused_at({0, 1, 2}), 1u);
    EXPECT_EQ(out_keys.host(), (numbers{7, 7, 7}));
    EXPECT_EQ(out_values.host(), (numbers{8, 8, 8}));

    const std::vector<std::uint64_t> offsets{0, 3};
    EXPECT_THROW(
        (primitives::merge_pairs<std::uint32_t, std::uint32_t>(
            this->place(), keys.view(), short_values.view(), offsets, out_keys.span(), out_values.span())),
        usage_error);
    EXPECT_THROW(
        (primitives::merge_pairs<std::uint32_t, std::uint32_t>(
            this->place(), keys.view(), values.view(), offsets, out_keys.span(), short_values.span())),
        usage_error);
    EXPECT_THROW(
        (primitives::merge_keys<std::uint32_t>(this->place(), keys.view(), offsets, short_values.span())),
        usage_error);
}

// The cuts for the threads of the CPU place, at every rank, against the definition.
RC_GTEST_PROP(rank_split, takes_the_first_of_the_stable_merge,
              (std::vector<std::vector<std::uint8_t>> drawn)) {
    using piece = primitives::sorted_piece<std::uint32_t, std::uint32_t>;
    std::vector<std::vector<std::uint32_t>> keys;
    std::vector<piece> pieces;
    for (auto& run : drawn) {
        std::sort(run.begin(), run.end());
        keys.emplace_back(run.begin(), run.end());
    }
    std::vector<std::pair<std::uint32_t, std::size_t>> merged;  // key, piece
    for (std::size_t p = 0; p < keys.size(); ++p) {
        pieces.push_back({keys[p].data(), nullptr, keys[p].size(), static_cast<std::uint32_t>(p)});
        for (const std::uint32_t key : keys[p]) merged.emplace_back(key, p);
    }
    std::sort(merged.begin(), merged.end());
    std::vector<std::uint64_t> expected(pieces.size()), cut(pieces.size()), capacity(2 * pieces.size());
    for (std::size_t rank = 0; rank <= merged.size(); ++rank) {
        primitives::split_by_rank<std::uint32_t, std::uint32_t>(pieces, rank, order::ascending, cut,
                                                                capacity);
        RC_ASSERT(cut == expected);
        if (rank < merged.size()) ++expected[merged[rank].second];
    }
}

}  // namespace
}  // namespace quern::merge_test
