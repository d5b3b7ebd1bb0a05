// SPDX-License-Identifier: Apache-2.0
// The filters of method `automatic` on the GPU, for .cu and .cpp.
#pragma once

#include <cstdint>

#include "device/array.hpp"
#include "ops/near_duplicates/filter/gram_sketch.hpp"
#include "quern/base/decimal.hpp"

namespace quern::near_duplicates_detail {

/// Scales at which a class has disjoint grams.
struct device_scales {
    std::uint8_t first, last;
};

/// The sketches of consecutive classes, as in sketched_classes.
// NOLINTNEXTLINE(cppcoreguidelines-pro-type-member-init): made whole, for kernels
struct device_sketches {
    std::uint32_t first;                           ///< class
    device_span<const std::uint8_t> units;         ///< unit_buckets for each class
    device_span<const std::uint64_t> bitmaps;      ///< all grams, then the disjoint ones, largest scale first
    device_span<const std::uint64_t> begins;       ///< of the bitmaps of a class
    device_span<const std::uint32_t> populations;  ///< sketched_classes::max_scales for each class
};

/// Classes of equal texts, by ascending length (or any texts, if `columns` gives that order), in device memory.
struct device_classes {
    device_span<const std::uint32_t> lengths;       ///< of all classes
    device_span<const std::uint8_t> kinds;          ///< of all classes: old_members and new_members
    device_span<const device_scales> scales;        ///< of all classes
    device_span<const std::uint32_t> rows;          ///< classes with new members, ascending
    device_sketches row_sketches, column_sketches;  ///< of the rows and columns of a call
    device_span<const std::uint32_t> columns = {};  ///< columns by ascending length; empty: all classes
    bool columns_have_disjoint = true;  ///< else pairs pass by the disjoint grams of the row alone
};
inline constexpr std::uint8_t old_members = 1, new_members = 2;

/// A range of columns (of `columns`, if given), all of one scale, to compare with the row_tile rows from `row` (an index of `rows`) on.
struct join_work {
    std::uint32_t row, first, last, scale;
};
inline constexpr std::uint32_t row_tile = 128, column_tile = 256;

/// Appends the pairs of classes that pass all filters to `found`, as packed pairs a << 32 | b, a < b, in no particular
/// order. `first` is the number that passed the disjoint grams of the row, `all` every filter. If `first` exceeds the
/// capacity of `first_found` (of found.size()), repeat the call with less work. Synchronises.
struct join_found {
    std::uint64_t first, all;
};
struct first_pair {
    std::uint32_t row, column;
};
join_found join_sketches(cuda_place& place, const device_classes& classes, const decimal& threshold,
                         bool within_new, device_span<const join_work> work,
                         device_span<first_pair> first_found, device_span<std::uint64_t> found);

}  // namespace quern::near_duplicates_detail
