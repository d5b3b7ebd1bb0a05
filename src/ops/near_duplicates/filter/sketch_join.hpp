// SPDX-License-Identifier: Apache-2.0
// The first two filters of method `automatic` on the GPU, for .cu and .cpp.
#pragma once

#include <cstdint>

#include "device/array.hpp"
#include "quern/base/decimal.hpp"

namespace quern::near_duplicates_detail {

/// Classes of equal texts, by ascending length, in device memory. Holds the sketches of the columns, from slot 0 on, and of
/// the rows: those that are not columns from slot `rows_at` on, starting with the class `first_row`.
struct device_sketches {
    device_span<const std::uint32_t> lengths;  ///< of all classes
    device_span<const std::uint8_t> kinds;     ///< of all classes: old_members and new_members
    device_span<const std::uint8_t> units;     ///< a slot has unit_buckets
    device_span<const std::uint8_t> pairs;     ///< a slot has pair_buckets
    device_span<const std::uint32_t> rows;     ///< classes with new members, ascending
    std::uint32_t first_column, columns, first_row, rows_at;
};
inline constexpr std::uint8_t old_members = 1, new_members = 2;

/// A range of columns to compare with the row_tile rows from `row` (an index of `rows`) on.
struct join_work {
    std::uint32_t row, first, last;
};
inline constexpr std::uint32_t row_tile = 128, column_tile = 128;

/// Appends the pairs of classes that pass both filters to `found`, as packed pairs a << 32 | b, a < b, in no particular
/// order. counters[0] is the number that passed the first one, counters[1] both, even if it exceeds found.size(): then
/// repeat the call with less work or more capacity. Synchronises.
struct join_found {
    std::uint64_t compared, first, both;
};
join_found join_sketches(cuda_place& place, const device_sketches& classes, const decimal& threshold,
                         bool within_new, device_span<const join_work> work,
                         device_span<std::uint64_t> first_found, device_span<std::uint64_t> found);

}  // namespace quern::near_duplicates_detail
