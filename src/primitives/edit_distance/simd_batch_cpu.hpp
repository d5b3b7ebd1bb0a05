// SPDX-License-Identifier: Apache-2.0
// Short strings of bytes: as many pairs as a vector has words of 64 bits are computed at once, one pair per lane, and wait
// here until there are that many.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "primitives/edit_distance/edit_distance.hpp"
#include "primitives/edit_distance/myers_block_kernels.hpp"

namespace quern::primitives::edit_distance_detail {

class short_pairs {
  public:
    static constexpr std::size_t max_rows = 2 * word_rows, max_columns = 512;

    short_pairs()
        : lanes_(block_words()),
          lane_bits_(std::countr_zero(lanes_)),
          equal_(256 * 2 * lanes_),
          columns_of_units_(max_columns * lanes_),
          waiting_(lanes_),
          lengths_(lanes_),
          bounds_(lanes_),
          values_(lanes_),
          falling_(2 * lanes_) {}

    /// a: 1 to max_rows units; b: at most max_columns. The distance is written when enough pairs wait, or by finish().
    void add(std::span<const std::uint8_t> a, std::span<const std::uint8_t> b, std::uint32_t bound,
             std::uint32_t& distance) {
        waiting_[count_++] = {a, b, bound, &distance};
        if (count_ == lanes_) finish();
    }

    void finish() {
        if (count_ == 0) return;
        std::size_t rows = 0, columns = 0;
        for (std::size_t l = 0; l < count_; ++l) {
            rows = std::max(rows, waiting_[l].a.size());
            columns = std::max(columns, waiting_[l].b.size());
        }
        const std::size_t words = (rows + word_rows - 1) / word_rows;
        for (std::size_t l = 0; l < lanes_; ++l) fill_lane(l, words, columns);
        run_simd_batch({words, equal_.data(), columns_of_units_.data(), columns, lengths_.data(),
                        falling_.data(), bounds_.data(), values_.data()});
        for (std::size_t l = 0; l < count_; ++l) {
            const pair& p = waiting_[l];
            *p.distance = values_[l] > bounds_[l] ? beyond_bound : static_cast<std::uint32_t>(values_[l]);
        }
        count_ = 0;
    }

  private:
    struct pair {
        std::span<const std::uint8_t> a, b;
        std::uint32_t bound = 0;
        std::uint32_t* distance = nullptr;
    };
    /// The position of unit's word 0, in lane 0.
    std::size_t column_of_unit(std::uint8_t unit, std::size_t words) const {
        return std::size_t{unit} << (lane_bits_ + static_cast<int>(words - 1));
    }
    void set_rows(std::span<const std::uint8_t> units, std::size_t first, std::size_t words, std::size_t l) {
        for (std::size_t i = 0; i < units.size();) {
            const std::size_t row = first + i,
                              until = std::min(units.size(), i + word_rows - row % word_rows);
            std::uint64_t* const equal = equal_.data() + (row / word_rows << lane_bits_) + l;
            for (std::uint64_t bit = std::uint64_t{1} << row % word_rows; i < until; ++i, bit <<= 1)
                equal[column_of_unit(units[i], words)] |= bit;
        }
    }

    /// Words are padded with rows before a's, as in strips. A lane without a pair has no columns.
    void fill_lane(std::size_t l, std::size_t words, std::size_t columns) {
        const pair p = l < count_ ? waiting_[l] : pair();
        const std::size_t filled = words * word_rows - p.a.size();
        set_rows(p.a, filled, words, l);
        for (std::size_t w = 0; w < words; ++w) {
            const std::size_t bits = std::min(word_rows, filled - std::min(filled, w * word_rows));
            falling_[(w << lane_bits_) + l] =
                bits == word_rows ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1;
        }
        std::uint32_t* const columns_of_units = columns_of_units_.data() + l;
        for (std::size_t j = 0; j < p.b.size(); ++j)
            columns_of_units[j << lane_bits_] = static_cast<std::uint32_t>(column_of_unit(p.b[j], words) + l);
        for (std::size_t j = p.b.size(); j < columns; ++j)
            columns_of_units[j << lane_bits_] = static_cast<std::uint32_t>(l);
        lengths_[l] = std::ssize(p.b), bounds_[l] = p.bound, values_[l] = std::ssize(p.a);
    }

    std::size_t lanes_, count_ = 0;
    int lane_bits_;
    std::vector<std::uint64_t> equal_;
    std::vector<std::uint32_t> columns_of_units_;
    std::vector<pair> waiting_;
    std::vector<std::int64_t> lengths_, bounds_, values_;
    std::vector<std::uint64_t> falling_;
};

}  // namespace quern::primitives::edit_distance_detail
