// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <numeric>

#include "device/cpu/parallel.hpp"
#include "ops/nearest/index/row_numbers.hpp"

namespace quern::nearest_detail {
namespace {

constexpr std::size_t min_piece = 1 << 16;

/// work(begin, end) over ranges of `items`.
template <class Work>
void for_each_range(cpu_place& place, std::size_t items, const Work& work) {
    const std::size_t pieces = pieces_for(place, items, min_piece);
    for_each_piece(place, pieces, [&](std::size_t p) {
        const auto [begin, end] = piece_of(items, pieces, p);
        work(begin, end);
    });
}

}  // namespace

void number_rows(cpu_place& place, std::span<const std::uint32_t> rows, std::uint64_t copies,
                 std::span<std::uint32_t> ids) {
    const std::size_t n = copies == 0 ? 0 : ids.size() / copies;
    for (std::uint64_t q = 0; q < copies; ++q) {
        std::uint32_t* const mine = ids.data() + q * n;
        for_each_range(place, n, [&](std::size_t begin, std::size_t end) {
            if (rows.empty())
                std::iota(mine + begin, mine + end, static_cast<std::uint32_t>(begin));
            else
                std::copy(rows.data() + begin, rows.data() + end, mine + begin);
        });
    }
}

void look_up_rows(cpu_place& place, std::span<const std::uint32_t> rows, std::span<std::uint32_t> ids) {
    for_each_range(place, ids.size(), [&](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i) ids[i] = rows[ids[i]];
    });
}

template <class Key>
void flag_within(cpu_place& place, std::span<const Key> keys, Key limit, std::span<std::uint8_t> flags) {
    for_each_range(place, keys.size(), [&](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i) flags[i] = keys[i] <= limit ? 1 : 0;
    });
}

template <class T>
void first_columns(cpu_place& place, std::span<const T> values, std::uint64_t columns, std::uint64_t k,
                   std::span<T> out) {
    const std::uint64_t rows = columns == 0 ? 0 : values.size() / columns;
    for_each_piece(place, pieces_for(place, rows, 1),
                   [&, pieces = pieces_for(place, rows, 1)](std::size_t p) {
                       const auto [begin, end] = piece_of(rows, pieces, p);
                       for (std::size_t r = begin; r < end; ++r)
                           std::copy_n(values.data() + r * columns, k, out.data() + r * k);
                   });
}

#define QUERN_ROW_NUMBERS(KEY)                                                                  \
    template void flag_within(cpu_place&, std::span<const KEY>, KEY, std::span<std::uint8_t>);  \
    template void first_columns(cpu_place&, std::span<const KEY>, std::uint64_t, std::uint64_t, \
                                std::span<KEY>);
QUERN_ROW_NUMBERS(std::uint32_t)
QUERN_ROW_NUMBERS(std::uint64_t)
#undef QUERN_ROW_NUMBERS

}  // namespace quern::nearest_detail
