// SPDX-License-Identifier: Apache-2.0
// Which rows of a strip, or of a short string, hold a unit: for bytes a table, for larger units one of the distinct
// units among the rows, which are few.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "primitives/edit_distance/edit_distance.hpp"
#include "primitives/edit_distance/strip_kernels.hpp"

namespace quern::primitives::edit_distance_detail {

/// Rows as bits, `words` words a code; codes are multiples of `words`.
template <string_unit Unit>
class unit_codes;

template <>
class unit_codes<std::uint8_t> {
  public:
    explicit unit_codes(std::size_t words) : words_(words), equal_(256 * words) {}

    /// Row `first` + i holds units[i]. The rows before `first`, and those behind the last, hold nothing.
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

/// Open addressing; code 0 is that of units that no row holds.
template <>
class unit_codes<std::uint32_t> {
  public:
    explicit unit_codes(std::size_t words)
        : words_(words), slots_(most_units * 4), equal_((most_units + 1) * words) {}

    void set(std::span<const std::uint32_t> units, std::size_t first) {
        for (std::size_t i = 0; i < units.size(); ++i) {
            slot& found = slots_[place_of(units[i])];
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
    std::uint32_t code(std::uint32_t unit) const { return slots_[place_of(unit)].code; }
    void find(std::span<const std::uint32_t> units, std::uint32_t* codes) const {
        for (std::size_t j = 0; j < units.size(); ++j) codes[j] = code(units[j]);
    }
    const std::uint64_t* equal() const { return equal_.data(); }

  private:
    static constexpr std::size_t most_units = most_strip_words * word_rows;
    struct slot {
        std::uint32_t unit = 0, code = 0;  // code 0: free
    };
    /// Where the unit stands, or the free place where it would.
    std::size_t place_of(std::uint32_t unit) const {
        std::size_t at = unit * 0x9e3779b1u >> (32 - 11);
        while (slots_[at].code != 0 && slots_[at].unit != unit) at = (at + 1) % slots_.size();
        return at;
    }

    std::size_t words_, distinct_ = 0;
    std::vector<slot> slots_;
    std::vector<std::uint64_t> equal_;
};

}  // namespace quern::primitives::edit_distance_detail
