// SPDX-License-Identifier: Apache-2.0
// Numbers are found from their ends: comparing 64 bytes at once gives bits, bits give positions, and no number waits
// for the preceding one to be read. (Langdale & Lemire, "Parsing Gigabytes of JSON per Second", VLDB Journal 2019, find
// a text's structure in this way.) Compiled once for each kind of processor; the best one is chosen at run time.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "io/lines/line_kernels.cpp"
#include <hwy/foreach_target.h>  // must come before highway.h
//
#include <hwy/highway.h>

#include <bit>

#include "io/lines/line_kernels.hpp"
#include "io/lines/numbers.hpp"

HWY_BEFORE_NAMESPACE();
namespace quern::io::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET == HWY_SCALAR

// A vector of one lane has no mask bits to store.
std::uint64_t other_than_digits(const char* text) {
    std::uint64_t others = 0;
    for (unsigned i = 0; i < 64; ++i) others |= std::uint64_t{text[i] < '0' || text[i] > '9'} << i;
    return others;
}

#else

HWY_INLINE std::uint64_t other_than_digits(const char* text) {
    const hn::CappedTag<std::uint8_t, 64> bytes;
    const auto* in = reinterpret_cast<const std::uint8_t*>(text);
    std::uint8_t bits[8];
    for (std::size_t i = 0; i < 64; i += hn::Lanes(bytes)) {
        const auto from_zero = hn::Sub(hn::LoadU(bytes, in + i), hn::Set(bytes, std::uint8_t{'0'}));
        const auto is_digit = hn::Eq(hn::Min(from_zero, hn::Set(bytes, std::uint8_t{9})), from_zero);
        hn::StoreMaskBits(bytes, hn::Not(is_digit), bits + i / 8);
    }
    std::uint64_t others = 0;
    for (unsigned i = 0; i < 8; ++i) others |= std::uint64_t{bits[i]} << (8 * i);
    return others;
}

#endif

std::size_t mark(const char* text, std::size_t size, std::uint16_t* positions) {
    std::uint16_t* out = positions;
    for (std::size_t begin = 0; begin < size; begin += 64) {
        std::uint64_t others = other_than_digits(text + begin);
        if (size - begin < 64) others &= (std::uint64_t{1} << (size - begin)) - 1;
        std::uint16_t* const after = out + std::popcount(others);
        while (others != 0) {
            // Eight at a time: the number of iterations is more predictable than the number of marks.
            for (int i = 0; i < 8; ++i) {
                *out++ = static_cast<std::uint16_t>(begin + static_cast<unsigned>(std::countr_zero(others)));
                others &= others - 1;
            }
        }
        out = after;
    }
    return static_cast<std::size_t>(out - positions);
}

#if HWY_TARGET == HWY_SCALAR

std::size_t convert_vectors(std::span<const std::uint64_t>, std::uint32_t*, number_range&) {
    return 0;
}

#else

// Combines pairs of digits, then of pairs, then of fours: three multiplications for all numbers of a vector. Returns
// how many are done.
std::size_t convert_vectors(std::span<const std::uint64_t> characters, std::uint32_t* numbers,
                            number_range& range) {
    const hn::CappedTag<std::uint64_t, 8> u64;
    const hn::Repartition<std::uint32_t, decltype(u64)> u32;
    const hn::Repartition<std::uint16_t, decltype(u64)> u16;
    const hn::Repartition<std::uint8_t, decltype(u64)> u8;
    const hn::Rebind<std::uint32_t, decltype(u64)> narrow;
    const std::size_t lanes = hn::Lanes(u64);
    auto least = hn::Set(narrow, range.least), largest = hn::Set(narrow, range.largest);
    std::size_t i = 0;
    for (; i + lanes <= characters.size(); i += lanes) {
        const auto digits = hn::BitCast(u16, hn::And(hn::BitCast(u8, hn::LoadU(u64, characters.data() + i)),
                                                     hn::Set(u8, std::uint8_t{15})));
        const auto twos = hn::Add(
            hn::Mul(hn::And(digits, hn::Set(u16, std::uint16_t{255})), hn::Set(u16, std::uint16_t{10})),
            hn::ShiftRight<8>(digits));
        const auto hundreds = hn::BitCast(u16, hn::And(hn::BitCast(u32, twos), hn::Set(u32, 0xffffu)));
        const auto fours = hn::Add(hn::BitCast(u32, hn::Mul(hundreds, hn::Set(u16, std::uint16_t{100}))),
                                   hn::ShiftRight<16>(hn::BitCast(u32, twos)));
        const auto eights =
            hn::Add(hn::MulEven(fours, hn::Set(u32, 10000u)), hn::ShiftRight<32>(hn::BitCast(u64, fours)));
        const auto done = hn::TruncateTo(narrow, eights);
        hn::StoreU(done, narrow, numbers + i);
        least = hn::Min(least, done);
        largest = hn::Max(largest, done);
    }
    range.least = hn::GetLane(hn::MinOfLanes(narrow, least));
    range.largest = hn::GetLane(hn::MaxOfLanes(narrow, largest));
    return i;
}

#endif

void convert(std::span<const std::uint64_t> characters, std::uint32_t* numbers, number_range& range) {
    for (std::size_t i = convert_vectors(characters, numbers, range); i < characters.size(); ++i) {
        numbers[i] = static_cast<std::uint32_t>(digits_value(characters[i], 8));
        range.least = numbers[i] < range.least ? numbers[i] : range.least;
        range.largest = numbers[i] > range.largest ? numbers[i] : range.largest;
    }
}

void number_all(std::span<link> links, std::uint32_t least, const id_cell* cells) {
    const auto number = [&](std::uint32_t id) {
        const std::uint32_t at = id - least;
        const id_cell cell = cells[at / 32];
        const std::uint32_t below = cell.occurs & ((std::uint32_t{1} << at % 32) - 1);
        return cell.before + static_cast<std::uint32_t>(std::popcount(below));
    };
    for (link& each : links) each = {number(each.from), number(each.to)};
}

}  // namespace quern::io::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace quern::io {

HWY_EXPORT(mark);
HWY_EXPORT(convert);
HWY_EXPORT(number_all);

std::size_t mark_non_digits(const char* text, std::size_t size, std::uint16_t* positions) {
    return HWY_DYNAMIC_DISPATCH(mark)(text, size, positions);
}

void convert_digits(std::span<const std::uint64_t> characters, std::uint32_t* numbers, number_range& range) {
    HWY_DYNAMIC_DISPATCH(convert)(characters, numbers, range);
}

void number_by_cells(std::span<link> links, std::uint32_t least, const id_cell* cells) {
    HWY_DYNAMIC_DISPATCH(number_all)(links, least, cells);
}

}  // namespace quern::io
#endif
