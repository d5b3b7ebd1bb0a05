// SPDX-License-Identifier: Apache-2.0
// Many edits: the band of the table within a bound (Ukkonen, Information and Control 64, 1985), strip of rows by strip of
// rows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "device/array.hpp"
#include "primitives/edit_distance/unit_codes.hpp"

namespace quern::primitives::edit_distance_detail {

/// The distance; if it is beyond the bound, `rows` is the number of rows of a that were needed to know.
struct band_result {
    std::uint32_t distance;
    std::int64_t rows;
};

/// One thread's memory for pairs one after another: O(bound) or O(columns), whichever is less.
template <string_unit Unit>
class banded_aligner {
  public:
    explicit banded_aligner(cpu_place& place);

    /// D(i, j) is the distance of a's first i units from b's first j. Rows are a's units, columns b's.
    band_result distance(std::span<const Unit> a, std::span<const Unit> b, std::int64_t bound);

  private:
    /// The last finished row. Its value in column `begin`, and its steps up to column `end`, are known; only cells from
    /// column `begin` on and of diagonals up to `last_diagonal` can be on a path within the bound.
    struct frontier {
        std::int64_t row, begin, end, value, last_diagonal;
    };
    void widen(frontier& at, std::int64_t end);
    void sweep(std::span<const Unit> rows, std::span<const Unit> columns, std::size_t falling);
    bool narrow(frontier& at, std::int64_t difference, std::int64_t bound);
    std::int64_t value_at_end(const frontier& at);

    cpu_place* place_;
    std::int64_t block_rows_;
    unit_codes<Unit> codes_;
    cpu_array<std::uint64_t> plus_, minus_;  ///< the frontier's steps, from offset_ on, padded
    std::size_t offset_ = 0;
    cpu_array<std::uint32_t> code_of_;  ///< of the columns of a strip, padded
    cpu_array<std::uint64_t> plus_bits_, minus_bits_;
};

extern template class banded_aligner<std::uint8_t>;
extern template class banded_aligner<std::uint32_t>;

}  // namespace quern::primitives::edit_distance_detail
