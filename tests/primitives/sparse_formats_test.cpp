// SPDX-License-Identifier: Apache-2.0
// Conversions, which run on the CPU: the promises of each format about its arrays, and that they hold the matrix.
#include "primitives/sparse/formats.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <tuple>
#include <vector>

#include "primitives/sparse_cases.hpp"
#include "quern/base/error.hpp"

namespace quern::sparse_formats_test {
namespace {

using primitives::csr_view;
using primitives::no_index;

/// An entry as (row, column, value): a matrix is the same when the sorted lists of them are.
using entry = std::tuple<std::uint32_t, std::uint32_t, double>;
template <class Value>
std::vector<entry> entries_of(const csr_view<Value>& rows) {
    std::vector<entry> made;
    for (std::uint32_t i = 0; i < rows.rows; ++i)
        for (std::uint64_t e = rows.offsets[i]; e < rows.offsets[i + 1]; ++e)
            made.emplace_back(i, rows.column[e], rows.value[e]);
    return made;
}
std::vector<entry> sorted(std::vector<entry> entries) {
    std::sort(entries.begin(), entries.end());
    return entries;
}

std::uint64_t length_of(const csr_view<double>& rows, std::uint32_t i) {
    return rows.offsets[i + 1] - rows.offsets[i];
}

/// max(1, round(μ + σ)) by its definition.
std::uint64_t usual_length(const csr_view<double>& rows) {
    if (rows.rows == 0) return 1;
    long double mean = 0, variance = 0;
    for (std::uint32_t i = 0; i < rows.rows; ++i)
        mean += static_cast<long double>(length_of(rows, i)) / rows.rows;
    for (std::uint32_t i = 0; i < rows.rows; ++i) {
        const long double off = static_cast<long double>(length_of(rows, i)) - mean;
        variance += off * off / rows.rows;
    }
    return std::max<std::uint64_t>(1, static_cast<std::uint64_t>(std::llround(mean + std::sqrt(variance))));
}

/// Non-empty rows by descending length, then ascending index.
std::vector<std::uint32_t> rows_by_length(const csr_view<double>& rows) {
    std::vector<std::uint32_t> order;
    for (std::uint32_t i = 0; i < rows.rows; ++i)
        if (length_of(rows, i) != 0) order.push_back(i);
    std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
        return length_of(rows, a) > length_of(rows, b);
    });
    return order;
}

void check_brc(const csr_view<double>& rows) {
    cpu_place place(context::cpu(2));
    const auto made = primitives::to_brc(place, rows);
    const std::uint64_t max = usual_length(rows);
    std::vector<entry> found;
    std::vector<std::uint64_t> taken(rows.rows);
    std::uint64_t slots = 0;
    for (std::size_t b = 0; b < made.block_begin.size(); ++b) {
        EXPECT_EQ(made.block_begin.data()[b], slots);
        const std::uint32_t width = made.nz_per_block.data()[b];
        slots += 32 * std::uint64_t{width};
        std::uint64_t longest = 0;
        std::vector<std::uint32_t> lanes;
        for (std::size_t l = 0; l < 32; ++l) {
            const std::uint32_t row = made.row_perm.data()[32 * b + l];
            std::uint64_t present = 0;
            if (row != no_index) {
                lanes.push_back(row);
                present = std::min<std::uint64_t>(width, length_of(rows, row) - taken[row]);
                longest = std::max(longest, length_of(rows, row) - taken[row]);
                EXPECT_GT(present, 0u);
            }
            for (std::uint64_t k = 0; k < width; ++k) {
                const std::uint64_t at = made.block_begin.data()[b] + 32 * k + l;
                if (k < present) {
                    const std::uint64_t e = rows.offsets[row] + taken[row] + k;
                    EXPECT_EQ(made.column.data()[at], rows.column[e]);
                    found.emplace_back(row, made.column.data()[at], made.value.data()[at]);
                } else {
                    EXPECT_EQ(made.column.data()[at], no_index);
                    EXPECT_EQ(made.value.data()[at], 0);
                }
            }
            if (row != no_index) taken[row] += present;
        }
        EXPECT_EQ(width, std::min(max, longest));
        std::sort(lanes.begin(), lanes.end());
        EXPECT_EQ(std::adjacent_find(lanes.begin(), lanes.end()), lanes.end()) << "a row twice in a block";
    }
    EXPECT_EQ(made.column.size(), slots);
    EXPECT_EQ(made.entries, rows.column.size());
    EXPECT_EQ(sorted(found), sorted(entries_of(rows)));
    const auto order = rows_by_length(rows);  // the first round
    for (std::size_t i = 0; i < order.size(); ++i) EXPECT_EQ(made.row_perm.data()[i], order[i]);
}

/// Lays the rows out by the rule, lane by lane, and compares.
void check_brcp(const csr_view<double>& rows) {
    cpu_place place(context::cpu(2));
    const auto made = primitives::to_brcp(place, rows);
    const std::uint64_t max = usual_length(rows);
    const auto order = rows_by_length(rows);
    std::size_t position = 0, block = 0;
    std::uint64_t taken = 0, slots = 0;
    std::vector<std::vector<std::uint32_t>> blocks_of_row(rows.rows);
    for (; position < order.size(); ++block) {
        ASSERT_LT(block + 1, made.block_ptr.size());
        const std::uint64_t length = length_of(rows, order[position]), rest = length - taken;
        const std::uint64_t next = position + 1 < order.size() ? length_of(rows, order[position + 1]) : 0;
        const std::uint64_t width =
            length > 64 * max ? (length + 63) / 64 : std::min(max, std::max(rest, next));
        EXPECT_EQ(made.block_ptr.data()[block], slots);
        EXPECT_EQ(made.block_ptr.data()[block + 1], slots + 32 * width);
        std::vector<std::uint32_t> lanes(32, no_index);
        for (std::size_t l = 0; l < 32; ++l) {
            const bool is_row = position < order.size();
            const std::uint32_t row = is_row ? order[position] : no_index;
            lanes[l] = row;
            for (std::uint64_t k = 0; k < width; ++k) {
                const std::uint64_t at = slots + 32 * k + l;
                const bool present = is_row && taken + k < length_of(rows, row);
                const std::uint64_t e = present ? rows.offsets[row] + taken + k : 0;
                EXPECT_EQ(made.column.data()[at], present ? rows.column[e] : no_index);
                EXPECT_EQ(made.value.data()[at], present ? rows.value[e] : 0);
            }
            if (!is_row) continue;
            if (blocks_of_row[row].empty() || blocks_of_row[row].back() != block)
                blocks_of_row[row].push_back(static_cast<std::uint32_t>(block));
            taken += width;
            if (taken < length_of(rows, row)) continue;
            taken = 0;
            ++position;
        }
        for (std::size_t l = 0; l < 32; ++l) {
            std::uint32_t run = 0;
            if (lanes[l] != no_index && (l == 0 || lanes[l] != lanes[l - 1]))
                while (l + run < 32 && lanes[l + run] == lanes[l]) ++run;
            EXPECT_EQ(made.row_perm.data()[32 * block + l], lanes[l]);
            EXPECT_EQ(made.row_seg_len.data()[32 * block + l], run);
        }
        slots += 32 * width;
    }
    EXPECT_EQ(made.block_ptr.size(), block + 1);
    EXPECT_EQ(made.block_ptr.data()[block], slots);
    EXPECT_EQ(made.column.size(), slots);
    EXPECT_EQ(primitives::brcp_slots(place, rows), slots);
    EXPECT_EQ(made.entries, rows.column.size());
    std::size_t split = 0;
    for (const std::uint32_t row : order) {
        if (blocks_of_row[row].size() < 2) continue;
        ASSERT_LT(split, made.split_row.size());
        EXPECT_EQ(made.split_row.data()[split], row);
        EXPECT_EQ(made.split_first.data()[split], blocks_of_row[row].front());
        EXPECT_EQ(made.split_last.data()[split++], blocks_of_row[row].back());
    }
    EXPECT_EQ(made.split_row.size(), split);
}

void check_plain(const csr_view<double>& rows) {
    cpu_place place(context::cpu(3));
    const auto coo = primitives::to_coo(place, rows);
    const auto csr = primitives::to_csr(place, rows);
    const auto ell = primitives::to_ell(place, rows, std::numeric_limits<double>::infinity());
    const std::vector<entry> expected = entries_of(rows);
    std::vector<entry> from_coo, from_ell;
    for (std::size_t e = 0; e < coo.row.size(); ++e)
        from_coo.emplace_back(coo.row.data()[e], coo.column.data()[e], coo.value.data()[e]);
    EXPECT_EQ(from_coo, expected);
    EXPECT_EQ(csr.offsets.size(), std::size_t{rows.rows} + 1);
    EXPECT_EQ(entries_of(csr_view<double>{csr.rows, csr.columns, csr.offsets.span(), csr.column.span(),
                                          csr.value.span()}),
              expected);
    std::uint64_t longest = 0;
    for (std::uint32_t i = 0; i < rows.rows; ++i) {
        longest = std::max(longest, length_of(rows, i));
        for (std::uint32_t k = 0; k < ell.width; ++k) {
            const std::size_t at = std::size_t{k} * rows.rows + i;
            if (k < length_of(rows, i)) {
                from_ell.emplace_back(i, ell.column.data()[at], ell.value.data()[at]);
            } else {
                EXPECT_EQ(ell.column.data()[at], no_index);
                EXPECT_EQ(ell.value.data()[at], 0);
            }
        }
    }
    EXPECT_EQ(ell.width, longest);
    EXPECT_EQ(ell.column.size(), longest * rows.rows);
    EXPECT_EQ(from_ell, expected);
    EXPECT_EQ(primitives::bytes_of(coo), rows.column.size() * 16);
    EXPECT_EQ(primitives::bytes_of(csr), rows.column.size() * 12 + (std::size_t{rows.rows} + 1) * 8);
    EXPECT_EQ(primitives::bytes_of(ell), longest * rows.rows * 12);
}

void check_all(const csr_view<double>& rows) {
    check_plain(rows);
    check_brc(rows);
    check_brcp(rows);
}

TEST(sparse_formats, every_shape) {
    for (const row_shape& shape : row_shapes()) {
        SCOPED_TRACE(shape.name);
        check_all(sparse_case_of<double>(shape.name, 700, shape.lengths, sparse_values::ordinary, 1).view());
    }
}

TEST(sparse_formats, properties) {
    EXPECT_TRUE(rc::check("formats are as their rules say", [] {
        auto lengths =
            *rc::gen::container<std::vector<std::uint64_t>>(rc::gen::inRange<std::uint64_t>(0, 12));
        for (int i = 0; i < *rc::gen::inRange(0, 4); ++i)
            if (!lengths.empty())
                lengths[*rc::gen::inRange<std::size_t>(0, lengths.size())] =
                    *rc::gen::inRange<std::uint64_t>(0, 2500);
        check_all(sparse_case_of<double>("random", 50, lengths, sparse_values::ordinary, 1).view());
        RC_ASSERT(!::testing::Test::HasFailure());
    }));
}

/// By hand: lengths 1, 70, 1, 2 of 74 entries; μ = 18.5, σ = 29.7, T = 48. The long row takes V = 48, the last is 2 wide.
TEST(sparse_formats, brcp_by_hand) {
    const auto made_of = sparse_case_of<double>("by hand", 9, {1, 70, 1, 2}, sparse_values::ordinary, 1);
    cpu_place place(context::cpu(1));
    const auto made = primitives::to_brcp(place, made_of.view());
    EXPECT_EQ(to_host(place, made.block_ptr.span()), (std::vector<std::uint64_t>{0, 32 * 48}));
    std::vector<std::uint32_t> rows(32, no_index), runs(32);
    const std::uint32_t first_rows[] = {1, 1, 3, 0, 2}, first_runs[] = {2, 0, 1, 1, 1};
    std::copy(std::begin(first_rows), std::end(first_rows), rows.begin());
    std::copy(std::begin(first_runs), std::end(first_runs), runs.begin());
    EXPECT_EQ(to_host(place, made.row_perm.span()), rows);
    EXPECT_EQ(to_host(place, made.row_seg_len.span()), runs);
    EXPECT_EQ(made.split_row.size(), 0u);
}

// ---- Rejections ----

template <class Make>
void expect_refused(const Make& make) {
    cpu_place place(context::cpu(2));
    const std::vector<std::uint64_t> offsets{0, 2, 3}, falling{0, 2, 1}, short_of{0, 2, 2}, beyond{0, 4, 3};
    const std::vector<std::uint32_t> column{0, 1, 1}, outside{0, 2, 7};
    const std::vector<double> value(3);
    make(place, csr_view<double>{2, 2, offsets, column, value});
    EXPECT_THROW(make(place, csr_view<double>{3, 2, offsets, column, value}), usage_error);
    EXPECT_THROW(make(place, csr_view<double>{2, 2, {}, column, value}), usage_error);
    EXPECT_THROW(make(place, csr_view<double>{2, 2, offsets, column, std::span(value).first(2)}),
                 usage_error);
    EXPECT_THROW(make(place, csr_view<double>{no_index, 2, offsets, column, value}), usage_error);
    EXPECT_THROW(make(place, csr_view<double>{2, no_index, offsets, column, value}), usage_error);
    for (const auto* wrong : {&falling, &short_of, &beyond})
        EXPECT_THROW(make(place, csr_view<double>{2, 2, *wrong, column, value}), invalid_value);
    EXPECT_THAT(
        [&] {
            make(place, csr_view<double>{2, 2, offsets, outside, value});
        },
        ::testing::Throws<invalid_value>(::testing::AllOf(
            ::testing::Property(&invalid_value::position, 1),
            ::testing::Property(&invalid_value::what,
                                ::testing::HasSubstr("entry 1 of the sparse matrix is in column 2, but there "
                                                     "are 2 columns")))));
}

TEST(sparse_formats, refuse_what_is_no_matrix) {
    expect_refused(
        [](cpu_place& place, const csr_view<double>& rows) { (void)primitives::to_coo(place, rows); });
    expect_refused(
        [](cpu_place& place, const csr_view<double>& rows) { (void)primitives::to_csr(place, rows); });
    expect_refused(
        [](cpu_place& place, const csr_view<double>& rows) { (void)primitives::to_ell(place, rows); });
    expect_refused(
        [](cpu_place& place, const csr_view<double>& rows) { (void)primitives::to_brc(place, rows); });
    expect_refused(
        [](cpu_place& place, const csr_view<double>& rows) { (void)primitives::to_brcp(place, rows); });
}

TEST(sparse_formats, ell_refuses_to_be_mostly_padding) {
    cpu_place place(context::cpu(1));
    const auto made =
        sparse_case_of<float>("one long row", 50, {30, 1, 1, 1, 1, 1}, sparse_values::ordinary, 1);
    EXPECT_EQ(primitives::to_ell(place, made.view(), 180.0 / 35).width, 30u);
    EXPECT_THAT([&] { (void)primitives::to_ell(place, made.view(), 5); },
                ::testing::ThrowsMessage<usage_error>(
                    ::testing::Eq("ell: 6 rows as long as the longest, 30, for 35 entries (expected"
                                  " at most 5 places for each entry); csr has no padding")));
}

TEST(sparse_formats, memory_ends_with_an_error) {
    context ctx = context::cpu(1);
    ctx.memory_bytes = 4000;
    cpu_place place(ctx);
    const auto made = sparse_case_of<double>("too large", 50, {300, 200}, sparse_values::ordinary, 1);
    EXPECT_THROW((void)primitives::to_csr(place, made.view()), out_of_memory);
    EXPECT_THROW((void)primitives::to_brcp(place, made.view()), out_of_memory);
    EXPECT_EQ(place.memory().used(), 0u);
}

}  // namespace
}  // namespace quern::sparse_formats_test
