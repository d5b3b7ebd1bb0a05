// SPDX-License-Identifier: Apache-2.0
// The external sort against std::stable_sort, bit by bit, with so little memory that a few megabytes of pairs make as many
// runs as terabytes would.
#include <gmock/gmock.h>

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "external_sorting.hpp"
#include "on_each_place.hpp"
#include "quern/base/error.hpp"
#include "reference/sort_reference.hpp"
#include "sort_data.hpp"

namespace quern::external_sort_test {
namespace {

using primitives::external_sort_record;
using primitives::external_sorter;
using primitives::order;
using reference::stored_bits;

template <class Tested>
class external_sort_test : public on_place<Tested> {
  protected:
    template <class Value, class Key>
    external_sort_record expect_sorted(const std::vector<Key>& keys, std::uint64_t memory, order direction) {
        const auto values = distinct_values<Value>(keys.size());
        const auto expected = reference::sorted_pairs(keys, values, direction);
        const auto got = sorted_by(this->place(), keys, values, memory, {.direction = direction});
        const std::string what = std::to_string(keys.size()) + " of " + type_name<Key>() + " within " +
                                 std::to_string(memory) + " bytes, " + direction_name(direction) + ", " +
                                 std::to_string(got.record.runs) + " runs";
        EXPECT_TRUE(stored_bits(got.keys) == stored_bits(expected.first)) << "keys of " << what;
        EXPECT_TRUE(got.values == expected.second) << "values of " << what;
        EXPECT_EQ(got.record.pairs, keys.size());
        EXPECT_LE(got.record.host_bytes, memory) << what;
        EXPECT_LE(this->place().memory().used(), 4 * 4096U) << "memory that was not given back";
        return got.record;
    }
};
TYPED_TEST_SUITE(external_sort_test, tested_places, tested_place_names);

TYPED_TEST(external_sort_test, stays_in_memory_where_it_can) {
    for (const std::size_t n : {0u, 1u, 2u, 1000u, 100'000u}) {
        const auto record = this->template expect_sorted<std::uint32_t>(random_values<float>(n, n), 32 * mib,
                                                                        order::ascending);
        EXPECT_EQ(record.runs, 0u);
        EXPECT_EQ(record.merge_passes, 0u);
        EXPECT_EQ(record.bytes_written, 0u);
    }
}

TYPED_TEST(external_sort_test, any_number_of_runs_gives_the_same) {
    const std::size_t n = 400'009;
    const auto keys = random_values<float>(n, 7);
    std::vector<std::uint64_t> runs, passes;
    for (const std::uint64_t memory : {64 * mib, 6 * mib, 512 * kib, 128 * kib}) {
        const auto record = this->template expect_sorted<std::uint32_t>(keys, memory, order::ascending);
        runs.push_back(record.runs);
        passes.push_back(record.merge_passes);
        // Every pair is written once and read once per pass; blocks are rounded up.
        EXPECT_LE(record.bytes_written,
                  n * 8 * std::max<std::uint64_t>(record.merge_passes, 1) * 11 / 10 + 65536);
        EXPECT_GE(record.bytes_written, record.runs == 0 ? 0 : n * 8);
        EXPECT_EQ(record.bytes_read, record.bytes_written);
    }
    EXPECT_EQ(runs.front(), 0u);
    EXPECT_GE(runs[1], 2u);
    EXPECT_GE(runs[2], 10u);
    EXPECT_GE(runs[3], 40u);
    EXPECT_EQ(passes[1], 1u);
    EXPECT_GE(passes[3], 2u) << "several merge passes";
}

TYPED_TEST(external_sort_test, hundreds_of_runs_and_three_passes) {
    const std::size_t n = tested_with().small_sizes ? 100'003 : 1'000'003;
    const auto record = this->template expect_sorted<std::uint64_t>(random_values<std::uint32_t>(n, 1, 2),
                                                                    128 * kib, order::descending);
    if (tested_with().small_sizes) return;
    EXPECT_GE(record.runs, 200u);
    EXPECT_GE(record.merge_passes, 3u);
}

TYPED_TEST(external_sort_test, every_type_in_both_directions) {
    for_each_key_type([&]<class Key>(Key) {
        for (const order direction : {order::ascending, order::descending}) {
            const auto keys = random_values<Key>(60'013, 3);
            this->template expect_sorted<std::uint32_t>(keys, 256 * kib, direction);
            this->template expect_sorted<std::uint64_t>(keys, 400 * kib, direction);
        }
    });
}

TYPED_TEST(external_sort_test, equal_keys_keep_the_order_of_push) {
    for (const unsigned ties : {1u, 2u}) {
        this->template expect_sorted<std::uint32_t>(random_values<double>(100'003, ties, ties), 512 * kib,
                                                    order::ascending);
    }
    this->template expect_sorted<std::uint32_t>(std::vector<std::int32_t>(150'001, -5), 256 * kib,
                                                order::descending);
    this->template expect_sorted<std::uint32_t>(std::vector<std::uint32_t>(150'001, 0), 256 * kib,
                                                order::ascending);
}

TYPED_TEST(external_sort_test, hard_data) {
    for (const hard_data<float>& data : hard_keys<float>(70'001)) {
        SCOPED_TRACE(data.name);
        this->template expect_sorted<std::uint32_t>(
            data.keys, 200 * kib, data.name.size() % 2 == 0 ? order::ascending : order::descending);
    }
}

TYPED_TEST(external_sort_test, refuses_what_it_cannot_do) {
    using sorter_type = external_sorter<typename TestFixture::place_type, float, std::uint32_t>;
    try {
        sorter_type(this->place(), 64 * mib - 1);
        ADD_FAILURE() << "less memory than the least was accepted";
    } catch (const usage_error& e) {
        EXPECT_STREQ(e.what(), "external_sorter: 67108863 bytes of memory, but 67108864 are needed");
    }
    sorter_type sorter(this->place(), 64 * mib);
    const std::vector<float> keys{1, 2};
    const std::vector<std::uint32_t> values{1};
    EXPECT_THROW(sorter.push(keys, values), usage_error);
    const auto nothing = [](std::span<const float>, std::span<const std::uint32_t>) {};
    sorter.finish(nothing);
    EXPECT_THROW(sorter.finish(nothing), usage_error);
    EXPECT_THROW(sorter.push(keys, {}), usage_error);
}

TYPED_TEST(external_sort_test, a_key_that_is_not_a_number_is_refused_by_its_place_in_the_order_of_push) {
    std::vector<float> keys = random_values<float>(200'000, 1);
    const auto values = distinct_values<std::uint32_t>(keys.size());
    for (const std::size_t at :
         {std::size_t{0}, std::size_t{31}, std::size_t{77'777}, std::size_t{199'999}}) {
        auto with_nan = keys;
        with_nan[at] = std::numeric_limits<float>::quiet_NaN();
        with_nan.back() = std::numeric_limits<float>::quiet_NaN();
        expect_refused_key(at, [&] { sorted_by(this->place(), with_nan, values, 512 * kib); });
    }
}

}  // namespace
}  // namespace quern::external_sort_test
