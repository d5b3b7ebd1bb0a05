// SPDX-License-Identifier: Apache-2.0
// Arrays that start at any element: every primitive with each of its arrays one element off the alignment of a place's
// memory, at sizes around those of vectors, lines, warps and blocks. Kernels that load 16 bytes at a time have separate
// code for the values before and after these.
#include <gtest/gtest.h>

#include "on_each_place.hpp"
#include "primitives/histogram/histogram.hpp"
#include "primitives/load_balance/load_balance.hpp"
#include "primitives/merge/merge.hpp"
#include "primitives/reduce/reduce.hpp"
#include "primitives/scan/scan.hpp"
#include "primitives/segment_shapes.hpp"
#include "primitives/select/select.hpp"
#include "primitives/sort/sort.hpp"
#include "primitives/top_k/top_k.hpp"
#include "reference/histogram_reference.hpp"
#include "reference/load_balance_reference.hpp"
#include "reference/reduce_reference.hpp"
#include "reference/scan_reference.hpp"
#include "reference/select_reference.hpp"
#include "reference/selection_reference.hpp"
#include "reference/sort_reference.hpp"
#include "sort_data.hpp"

namespace quern::unaligned_test {
namespace {

using numbers = std::vector<std::uint32_t>;
using reference::stored_bits;

template <class Tested>
class unaligned_test : public on_place<Tested> {
  protected:
    static std::vector<std::size_t> sizes() { return {1, 3, 65, 67, 1023, 1025, 5001, large_size() / 4}; }

    template <class T>
    auto off(const std::vector<T>& values) {
        return this->array(values, beginning::one_off);
    }
    template <class T>
    auto out(std::size_t size) {
        return this->template output<T>(size, beginning::one_off);
    }
    static std::vector<std::uint8_t> some_flags(std::size_t n) {
        auto flags = random_values<std::uint8_t>(n, n + 1);
        for (auto& flag : flags) flag = flag % 3 == 0 ? flag : 0;
        return flags;
    }

    template <class Key>
    void expect_sorts(std::size_t n) {
        const auto keys = random_values<Key>(n, n);
        const auto values = distinct_values<std::uint32_t>(n);
        const auto sorted = off(keys);
        const auto carried = off(values);
        primitives::sort_pairs(this->place(), sorted.span(), carried.span());
        const auto expected = reference::sorted_pairs(keys, values, primitives::order::ascending);
        EXPECT_TRUE(stored_bits(sorted.host()) == stored_bits(expected.first)) << n;
        EXPECT_TRUE(carried.host() == expected.second) << n;

        const auto offsets = random_offsets(n, n < 100 ? 9 : 700, n);
        const auto in_segments = off(keys);
        const auto along = off(values);
        primitives::segmented_sort_pairs(this->place(), in_segments.span(), along.span(),
                                         off(offsets).view());
        const auto apart = reference::segments_sorted(keys, values, offsets, primitives::order::ascending);
        EXPECT_TRUE(stored_bits(in_segments.host()) == stored_bits(apart.first)) << n;
        EXPECT_TRUE(along.host() == apart.second) << n;

        const auto merged_keys = out<Key>(n);
        const auto merged_values = out<std::uint32_t>(n);
        const std::vector<std::uint64_t> runs = {0, n / 3, n};
        const auto of_runs = reference::segments_sorted(keys, values, runs, primitives::order::ascending);
        primitives::merge_pairs(this->place(), off(of_runs.first).view(), off(of_runs.second).view(),
                                std::span<const std::uint64_t>(runs), merged_keys.span(),
                                merged_values.span());
        EXPECT_TRUE(stored_bits(merged_keys.host()) == stored_bits(expected.first)) << n;
        EXPECT_TRUE(merged_values.host() == expected.second) << n;
    }

    template <class Key>
    void expect_top_k(std::size_t n) {
        const auto keys = random_values<Key>(n, n);
        const auto ids = distinct_values<std::uint32_t>(n);
        const std::size_t k = (n + 6) / 7;
        const auto best_keys = out<Key>(k);
        const auto best_ids = out<std::uint32_t>(k);
        primitives::top_k(this->place(), off(keys).view(), off(ids).view(), best_keys.span(),
                          best_ids.span());
        const auto expected = reference::top_k<Key>(keys, ids, k, primitives::best::greatest);
        EXPECT_TRUE(stored_bits(best_keys.host()) == stored_bits(expected.keys)) << n;
        EXPECT_TRUE(best_ids.host() == expected.ids) << n;
        // Rows of an odd length: each has a different alignment.
        const std::size_t columns = n < 1000 ? n : n / 11 | 1, rows = n / columns;
        const std::vector<Key> matrix(keys.begin(),
                                      keys.begin() + static_cast<std::ptrdiff_t>(rows * columns));
        const auto row_keys = out<Key>(rows);
        const auto row_ids = out<std::uint32_t>(rows);
        primitives::batched_top_k(this->place(), off(matrix).view(), columns, 1, row_keys.span(),
                                  row_ids.span());
        std::vector<Key> first_keys;
        numbers first_ids, positions(columns);
        for (std::size_t c = 0; c < columns; ++c) positions[c] = static_cast<std::uint32_t>(c);
        for (std::size_t r = 0; r < rows; ++r) {
            const auto row = reference::top_k<Key>(std::span(matrix).subspan(r * columns, columns), positions,
                                                   1, primitives::best::greatest);
            first_keys.push_back(row.keys[0]);
            first_ids.push_back(row.ids[0]);
        }
        EXPECT_TRUE(stored_bits(row_keys.host()) == stored_bits(first_keys)) << n;
        EXPECT_TRUE(row_ids.host() == first_ids) << n;
    }

    template <class T>
    void expect_reductions(std::size_t n, primitives::reduce_operation operation) {
        const auto values = random_values<T>(n, n);
        const auto in = off(values);
        const auto bits = [](primitives::reduced_type<T> value) {
            return std::bit_cast<std::uint64_t>(value);
        };
        EXPECT_EQ(bits(primitives::reduce(this->place(), in.view(), operation)),
                  bits(reference::reduce(values, operation)))
            << n;
        const auto offsets = random_offsets(n, n < 100 ? 9 : 3000, n);
        const auto found = out<primitives::reduced_type<T>>(offsets.size() - 1);
        primitives::segmented_reduce(this->place(), in.view(), off(offsets).view(), found.span(), operation);
        const auto expected = reference::segmented_reduce(values, offsets, operation);
        const auto got = found.host();
        ASSERT_EQ(got.size(), expected.size());
        for (std::size_t s = 0; s < got.size(); ++s)
            ASSERT_EQ(bits(got[s]), bits(expected[s])) << n << " values, segment " << s;
    }

    template <class In>
    void expect_wider_sums(std::size_t n) {
        const auto values = random_values<In>(n, n, 0);
        const auto sums = out<std::uint64_t>(n), offsets = out<std::uint64_t>(n + 1);
        constexpr auto sum = primitives::scan_operation::sum;
        primitives::inclusive_scan(this->place(), off(values).view(), sums.span());
        primitives::exclusive_scan(this->place(), off(values).view(), offsets.span());
        EXPECT_TRUE(sums.host() == reference::inclusive_scan<std::uint64_t>(values, sum)) << n;
        EXPECT_TRUE(offsets.host() == reference::exclusive_scan<std::uint64_t>(values, sum)) << n;
    }

    template <class Sample>
    void expect_histograms(std::size_t n) {
        for (const std::size_t bins : {200u, 5000u, 300'000u}) {
            auto samples = random_values<Sample>(n, n);
            for (auto& sample : samples) sample = static_cast<Sample>(sample % bins);
            const auto counts = out<std::uint64_t>(bins);
            primitives::histogram(this->place(), off(samples).view(), counts.span());
            EXPECT_TRUE(counts.host() == reference::histogram(samples, bins)) << n << ", " << bins << " bins";
        }
    }

    template <class T>
    void expect_selections(std::size_t n) {
        auto values = random_values<T>(n, n);
        const auto flags = some_flags(n);
        const auto kept = out<T>(n), positions = out<T>(n);
        const std::size_t count =
            primitives::compact(this->place(), off(values).view(), off(flags).view(), kept.span());
        auto found = kept.host();
        found.resize(count);
        EXPECT_TRUE(found == reference::compact(values, flags)) << n;
        const std::size_t flagged =
            primitives::compact_positions(this->place(), off(flags).view(), positions.span());
        found = positions.host();
        found.resize(flagged);
        EXPECT_TRUE(found == reference::compact_positions<T>(flags)) << n;

        for (auto& value : values) value %= 2;
        const auto unique = out<T>(n);
        const auto lengths = out<std::uint64_t>(n);
        const std::size_t runs =
            primitives::run_length_encode(this->place(), off(values).view(), unique.span(), lengths.span());
        const auto expected = reference::run_length_encode(values);
        auto got = unique.host();
        auto counts = lengths.host();
        got.resize(runs);
        counts.resize(runs);
        EXPECT_TRUE(got == expected.unique) << n;
        EXPECT_TRUE(counts == expected.counts) << n;
    }

    template <class T>
    void expect_scans(std::size_t n) {
        using primitives::scan_operation;
        constexpr auto sum = scan_operation::sum;
        const auto values = random_values<T>(n, n);
        const auto inclusive = out<T>(n), exclusive = out<T>(n + 1), in_segments = out<T>(n);
        for (const auto operation : {sum, scan_operation::maximum, scan_operation::minimum}) {
            primitives::inclusive_scan(this->place(), off(values).view(), inclusive.span(), operation);
            primitives::exclusive_scan(this->place(), off(values).view(), exclusive.span(), operation);
            EXPECT_TRUE(inclusive.host() == reference::inclusive_scan<T>(values, operation)) << n;
            EXPECT_TRUE(exclusive.host() == reference::exclusive_scan<T>(values, operation)) << n;
        }
        const auto offsets = random_offsets(n, n < 100 ? 9 : 3000, n);
        primitives::segmented_inclusive_scan(this->place(), off(values).view(), off(offsets).view(),
                                             in_segments.span());
        EXPECT_TRUE(in_segments.host() == reference::segmented_scan(values, offsets, sum, true)) << n;
    }
};
TYPED_TEST_SUITE(unaligned_test, tested_places, tested_place_names);

TYPED_TEST(unaligned_test, sorts_and_merges) {
    for (const std::size_t n : this->sizes()) {
        this->template expect_sorts<float>(n);
        this->template expect_sorts<std::uint64_t>(n);
    }
}

TYPED_TEST(unaligned_test, top_k) {
    for (const std::size_t n : this->sizes()) {
        this->template expect_top_k<float>(n);
        this->template expect_top_k<std::int64_t>(n);
    }
}

TYPED_TEST(unaligned_test, reductions) {
    using primitives::reduce_operation;
    for (const std::size_t n : this->sizes()) {
        this->template expect_reductions<float>(n, reduce_operation::maximum);
        this->template expect_reductions<double>(n, reduce_operation::sum);
        this->template expect_reductions<std::uint8_t>(n, reduce_operation::sum);
        this->template expect_reductions<std::uint8_t>(n, reduce_operation::minimum);
        this->template expect_reductions<std::int32_t>(n, reduce_operation::sum);
        this->template expect_reductions<std::uint32_t>(n, reduce_operation::maximum);
        this->template expect_reductions<std::int64_t>(n, reduce_operation::minimum);
    }
}

TYPED_TEST(unaligned_test, counts_and_selections) {
    for (const std::size_t n : this->sizes()) {
        this->template expect_histograms<std::uint8_t>(n);
        this->template expect_histograms<std::uint32_t>(n);
        this->template expect_histograms<std::uint64_t>(n);
        this->template expect_selections<std::uint32_t>(n);
        this->template expect_selections<std::uint64_t>(n);
    }
}

TYPED_TEST(unaligned_test, scans_and_searches) {
    for (const std::size_t n : this->sizes()) {
        this->template expect_scans<std::uint32_t>(n);
        this->template expect_scans<std::int64_t>(n);
        this->template expect_wider_sums<std::uint8_t>(n);
        this->template expect_wider_sums<std::uint32_t>(n);
        const auto offsets = random_offsets(n, n < 100 ? 9 : 3000, n);
        const auto segments = this->template out<std::uint32_t>(n);
        primitives::load_balancing_search(this->place(), this->off(offsets).view(), segments.span());
        EXPECT_TRUE(segments.host() == reference::load_balancing_search<std::uint32_t>(offsets)) << n;
        const auto points = this->template out<primitives::merge_path_point>(14);
        primitives::merge_path_partition(this->place(), this->off(offsets).view(), points.span());
        EXPECT_TRUE(points.host() == reference::merge_path_partition(reference::merge_path(offsets), 13))
            << n;
    }
}

}  // namespace
}  // namespace quern::unaligned_test
