// SPDX-License-Identifier: Apache-2.0
#include "primitives/doors.hpp"
#include "primitives/select/select.hpp"

namespace quern::primitives {

template <payload T>
std::size_t compact(cpu_place&, std::span<const T> values, std::span<const std::uint8_t> flags,
                    std::span<T> out) {
    check_same_size("compact", "values", values.size(), "flags", flags.size());
    std::size_t kept = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
        if (flags[i] == 0) continue;
        if (kept < out.size()) out[kept] = values[i];
        ++kept;
    }
    check_room("compact", "out", out.size(), kept);
    return kept;
}

template <payload Position>
std::size_t compact_positions(cpu_place&, std::span<const std::uint8_t> flags, std::span<Position> out) {
    if (sizeof(Position) == 4) check_32_bits("compact_positions", flags.size(), "flags", "positions");
    std::size_t kept = 0;
    for (std::size_t i = 0; i < flags.size(); ++i) {
        if (flags[i] == 0) continue;
        if (kept < out.size()) out[kept] = static_cast<Position>(i);
        ++kept;
    }
    check_room("compact_positions", "out", out.size(), kept);
    return kept;
}

template <payload T>
std::size_t run_length_encode(cpu_place&, std::span<const T> values, std::span<T> unique,
                              std::span<std::uint64_t> counts) {
    std::size_t runs = 0;
    for (std::size_t begin = 0, end = 0; begin < values.size(); begin = end) {
        while (end < values.size() && values[end] == values[begin]) ++end;
        if (runs < unique.size()) unique[runs] = values[begin];
        if (runs < counts.size()) counts[runs] = end - begin;
        ++runs;
    }
    check_room("run_length_encode", "unique", unique.size(), runs);
    check_room("run_length_encode", "counts", counts.size(), runs);
    return runs;
}

template std::size_t compact(cpu_place&, std::span<const std::uint32_t>, std::span<const std::uint8_t>,
                             std::span<std::uint32_t>);
template std::size_t compact(cpu_place&, std::span<const std::uint64_t>, std::span<const std::uint8_t>,
                             std::span<std::uint64_t>);
template std::size_t compact_positions(cpu_place&, std::span<const std::uint8_t>, std::span<std::uint32_t>);
template std::size_t compact_positions(cpu_place&, std::span<const std::uint8_t>, std::span<std::uint64_t>);
template std::size_t run_length_encode(cpu_place&, std::span<const std::uint32_t>, std::span<std::uint32_t>,
                                       std::span<std::uint64_t>);
template std::size_t run_length_encode(cpu_place&, std::span<const std::uint64_t>, std::span<std::uint64_t>,
                                       std::span<std::uint64_t>);

}  // namespace quern::primitives
