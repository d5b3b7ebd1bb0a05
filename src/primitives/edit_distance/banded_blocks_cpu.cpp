// SPDX-License-Identifier: Apache-2.0
// Strip after strip, each from the first column of its upper edge that a path within the bound can cross, to the last
// diagonal that such a path can reach. Cells outside count as a straight path on from the edge: never less than their true
// cost, so values within the bound are exact (proof: docs/primitives/edit_distance.md). After each strip every path has
// crossed its last row; if none can within the bound, the pair is abandoned.
#include "primitives/edit_distance/banded_blocks_cpu.hpp"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <limits>

namespace quern::primitives::edit_distance_detail {
namespace {

constexpr std::uint64_t all_ones = ~std::uint64_t{0};

constexpr std::size_t size_of(std::int64_t count) {
    return static_cast<std::size_t>(count);
}

}  // namespace

template <string_unit Unit>
banded_aligner<Unit>::banded_aligner(cpu_place& place)
    : place_(&place),
      block_rows_(static_cast<std::int64_t>(block_words() * word_rows)),
      codes_(block_words()) {}

template <string_unit Unit>
band_result banded_aligner<Unit>::distance(std::span<const Unit> a, std::span<const Unit> b,
                                           std::int64_t bound) {
    const auto rows = static_cast<std::int64_t>(a.size()), columns = static_cast<std::int64_t>(b.size());
    const std::int64_t difference = columns - rows;
    if (std::abs(difference) > bound) return {beyond_bound, 0};
    // The first strip is padded with rows before a's, and b with as many columns before its first, all of one additional
    // unit: their match costs nothing, and the values of the column where they end are known.
    const std::int64_t filled = (block_rows_ - rows % block_rows_) % block_rows_;
    frontier at{-filled, 0, 0, filled, (bound + difference) >> 1};
    offset_ = block_padding;
    while (at.row < rows) {
        const std::int64_t first = std::max<std::int64_t>(at.row, 0), last = at.row + block_rows_;
        widen(at, std::min(columns, last + at.last_diagonal));
        sweep(a.subspan(size_of(first), size_of(last - first)),
              b.subspan(size_of(at.begin), size_of(at.end - at.begin)), size_of(first - at.row));
        at.value += last - first - (first - at.row);
        at.row = last;
        if (last < rows && !narrow(at, difference, bound)) return {beyond_bound, last};
    }
    const std::int64_t distance = value_at_end(at);
    return {distance > bound ? beyond_bound : static_cast<std::uint32_t>(distance), rows};
}

/// Past the known part of the edge, its values rise by one per column.
template <string_unit Unit>
void banded_aligner<Unit>::widen(frontier& at, std::int64_t end) {
    const std::size_t wanted = size_of(end - at.begin), known = std::min(size_of(at.end - at.begin), wanted);
    if (offset_ + wanted + block_padding > plus_.size()) {
        const std::size_t capacity = 2 * (wanted + block_padding);
        const bool grows = capacity > plus_.size();
        for (cpu_array<std::uint64_t>* const steps : {&plus_, &minus_}) {
            auto to = grows ? cpu_array<std::uint64_t>(*place_, capacity, "edit distances")
                            : cpu_array<std::uint64_t>();
            std::uint64_t* const begin = grows ? to.data() : steps->data();
            if (known != 0)
                std::memmove(begin + block_padding, steps->data() + offset_, known * sizeof(std::uint64_t));
            if (grows) *steps = std::move(to);
        }
        offset_ = block_padding;
    }
    if (code_of_.size() < wanted + 2 * block_padding) {
        const std::size_t capacity = 2 * (wanted + block_padding);
        code_of_ = cpu_array<std::uint32_t>(*place_, capacity, "edit distances");
        plus_bits_ = cpu_array<std::uint64_t>(*place_, capacity / 64 + 1, "edit distances");
        minus_bits_ = cpu_array<std::uint64_t>(*place_, capacity / 64 + 1, "edit distances");
    }
    std::fill_n(plus_.data() + offset_ + known, wanted - known, all_ones);
    std::fill_n(minus_.data() + offset_ + known, wanted - known, std::uint64_t{0});
    at.end = end;
}

template <string_unit Unit>
void banded_aligner<Unit>::sweep(std::span<const Unit> rows, std::span<const Unit> columns,
                                 std::size_t falling) {
    if (columns.empty()) return;
    codes_.set(rows, falling);
    std::uint32_t* const codes = code_of_.data() + block_padding;
    std::fill_n(code_of_.data(), block_padding, 0u);
    codes_.find(columns, codes);
    std::fill_n(codes + columns.size(), block_padding, 0u);
    std::uint64_t* const plus = plus_.data() + offset_;
    std::uint64_t* const minus = minus_.data() + offset_;
    std::fill_n(plus + columns.size(), block_padding, std::uint64_t{0});  // read, but without effect
    std::fill_n(minus + columns.size(), block_padding, std::uint64_t{0});
    run_bit_block({codes_.equal(), codes, columns.size(), falling, plus, minus});
    codes_.clear(rows, falling);
}

/// The part of the frontier that paths within the bound can leave: its first column, and the last diagonal that one can
/// reach. False if there is none. A path through D(row, j) = v on diagonal k = j − row that reaches diagonal k' needs at
/// least v + |k' − k| + |difference − k'| edits.
template <string_unit Unit>
bool banded_aligner<Unit>::narrow(frontier& at, std::int64_t difference, std::int64_t bound) {
    const std::size_t count = size_of(at.end - at.begin);
    pack_top_bits(plus_.data() + offset_, count, plus_bits_.data());
    pack_top_bits(minus_.data() + offset_, count, minus_bits_.data());
    constexpr std::int64_t none = std::numeric_limits<std::int64_t>::min();
    std::int64_t value = at.value, first = none, first_value = 0, furthest = none;
    if (value + std::abs(difference - (at.begin - at.row)) <= bound) {
        first = at.begin, first_value = value;
        furthest = (bound - value + at.begin - at.row + difference) >> 1;
    }
    for (std::size_t w = 0; w * 64 < count; ++w) {
        const std::uint64_t plus = plus_bits_.data()[w], minus = minus_bits_.data()[w];
        const std::int64_t before = at.begin + static_cast<std::int64_t>(w) * 64,
                           last = std::min(before + 64, at.end);
        // The minimum of these columns is at least the first value minus all falls.
        const std::int64_t least = value - std::popcount(minus);
        const std::int64_t k = before + 1 - at.row, last_k = last - at.row;
        if (least + std::max({std::int64_t{0}, difference - last_k, k - difference}) <= bound) {
            furthest = std::max(furthest, (bound - least + last_k + difference) >> 1);
            std::int64_t here = value;
            for (std::int64_t j = before + 1; first == none && j <= last; ++j) {
                const std::int64_t bit = j - before - 1;
                here +=
                    static_cast<std::int64_t>(plus >> bit & 1) - static_cast<std::int64_t>(minus >> bit & 1);
                if (here + std::abs(difference - (j - at.row)) <= bound) first = j, first_value = here;
            }
        }
        value += std::popcount(plus) - std::popcount(minus);
    }
    if (first == none) return false;
    offset_ += size_of(first - at.begin);
    at.begin = first, at.value = first_value;
    at.last_diagonal = std::min(at.last_diagonal, furthest);
    return true;
}

template <string_unit Unit>
std::int64_t banded_aligner<Unit>::value_at_end(const frontier& at) {
    const std::size_t count = size_of(at.end - at.begin);
    std::int64_t value = at.value;
    for (std::size_t j = offset_; j < offset_ + count; ++j)
        value += static_cast<std::int64_t>(plus_.data()[j] >> 63) -
                 static_cast<std::int64_t>(minus_.data()[j] >> 63);
    return value;
}

template class banded_aligner<std::uint8_t>;
template class banded_aligner<std::uint32_t>;

}  // namespace quern::primitives::edit_distance_detail
