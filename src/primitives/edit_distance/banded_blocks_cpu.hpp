// SPDX-License-Identifier: Apache-2.0
// Many edits: the band of the table within a bound (Ukkonen, Information and Control 64, 1985), strip of rows by strip of
// rows.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "device/array.hpp"
#include "primitives/edit_distance/edit_distance.hpp"
#include "primitives/edit_distance/myers_block_kernels.hpp"

namespace quern::primitives::edit_distance_detail {

// The rows of a strip, or of a short string, with a given unit: a table for bytes; for larger units a table of the distinct
// units among the rows, which are few.

/// Rows as bits, `words` words per code; codes are multiples of `words`.
template <string_unit Unit>
class unit_codes;

template <>
class unit_codes<std::uint8_t> {
  public:
    explicit unit_codes(std::size_t words) : words_(words), equal_(256 * words) {}

    /// Row `first` + i holds units[i]. The rows before `first`, and those after the last, hold nothing.
    void set(std::span<const std::uint8_t> units, std::size_t first) {
        for (std::size_t i = 0; i < units.size(); ++i) {
            const std::size_t row = first + i;
            equal_[units[i] * words_ + row / word_rows] |= std::uint64_t{1} << row % word_rows;
        }
    }
    /// As before set() with the same arguments.
    void clear(std::span<const std::uint8_t> units, std::size_t first) {
        for (std::size_t i = 0; i < units.size(); ++i)
            equal_[units[i] * words_ + (first + i) / word_rows] = 0;
    }
    std::uint32_t code(std::uint8_t unit) const { return static_cast<std::uint32_t>(unit * words_); }
    void find(std::span<const std::uint8_t> units, std::uint32_t* codes) const {
        scale_codes(units.data(), units.size(), codes);
    }
    const std::uint64_t* equal() const { return equal_.data(); }

  private:
    std::size_t words_;
    std::vector<std::uint64_t> equal_;
};

/// Open addressing; code 0 is that of units without a row.
template <>
class unit_codes<std::uint32_t> {
  public:
    explicit unit_codes(std::size_t words)
        : words_(words), slots_(max_units * 4), equal_((max_units + 1) * words) {}

    void set(std::span<const std::uint32_t> units, std::size_t first) {
        for (std::size_t i = 0; i < units.size(); ++i) {
            slot& found = slots_[slot_of(units[i])];
            if (found.code == 0) found = {units[i], static_cast<std::uint32_t>(++distinct_ * words_)};
            const std::size_t row = first + i;
            equal_[found.code + row / word_rows] |= std::uint64_t{1} << row % word_rows;
        }
    }
    void clear(std::span<const std::uint32_t>, std::size_t) {
        std::fill(slots_.begin(), slots_.end(), slot{});
        std::fill_n(equal_.begin(), (distinct_ + 1) * words_, std::uint64_t{0});
        distinct_ = 0;
    }
    std::uint32_t code(std::uint32_t unit) const { return slots_[slot_of(unit)].code; }
    void find(std::span<const std::uint32_t> units, std::uint32_t* codes) const {
        for (std::size_t j = 0; j < units.size(); ++j) codes[j] = code(units[j]);
    }
    const std::uint64_t* equal() const { return equal_.data(); }

  private:
    static constexpr std::size_t max_units = max_block_words * word_rows;
    struct slot {
        std::uint32_t unit = 0, code = 0;  // code 0: free
    };
    /// The position of the unit, or the free one where it would go.
    std::size_t slot_of(std::uint32_t unit) const {
        std::size_t at = unit * 0x9e3779b1u >> (32 - 11);
        while (slots_[at].code != 0 && slots_[at].unit != unit) at = (at + 1) % slots_.size();
        return at;
    }

    std::size_t words_, distinct_ = 0;
    std::vector<slot> slots_;
    std::vector<std::uint64_t> equal_;
};

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
