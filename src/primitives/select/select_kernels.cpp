// SPDX-License-Identifier: Apache-2.0
// 64 values at a time. If few of them are kept, bit by bit; if all are, a copy; otherwise vectors are compressed in
// registers and stored whole, each over the junk after the previous one, except near the end. Compiled once for each
// instruction set; Highway chooses at run time.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "primitives/select/select_kernels.cpp"
#include "hwy/foreach_target.h"  // must come before highway.h
//
#include <bit>
#include <cstring>

#include "hwy/highway.h"
#include "primitives/select/select_kernels.hpp"

HWY_BEFORE_NAMESPACE();
namespace quern::primitives::select_detail {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// The lanes of a mask as the low bits of a word.
template <class D, class M>
HWY_INLINE std::uint64_t bits_of(D d, M mask) {
    std::uint8_t bytes[HWY_MAX(8, HWY_MAX_BYTES / 8)] = {};
    hn::StoreMaskBits(d, mask, bytes);
    std::uint64_t bits;
    std::memcpy(&bits, bytes, sizeof bits);
    return bits;
}

/// Words of bits: `vector(i)` gives the values of one vector, `one(i)` a single one.
template <class D, class OfVector, class OfOne>
HWY_INLINE std::size_t words_of_bits(D d, std::size_t size, std::uint64_t* bits, const OfVector& vector,
                                     const OfOne& one) {
    const std::size_t lanes = hn::Lanes(d);
    std::size_t count = 0, i = 0;
    for (; i + 64 <= size; i += 64) {
        std::uint64_t word = 0;
        for (std::size_t v = 0; v < 64; v += lanes) word |= vector(i + v) << v;
        *bits++ = word;
        count += static_cast<std::size_t>(std::popcount(word));
    }
    if (i < size) {
        std::uint64_t word = 0;
        for (std::size_t j = i; j < size; ++j) word |= std::uint64_t{one(j)} << (j - i);
        *bits = word;
        count += static_cast<std::size_t>(std::popcount(word));
    }
    return count;
}

std::size_t bits_of_flags(const std::uint8_t* flags, std::size_t size, std::uint64_t* bits) {
    const hn::ScalableTag<std::uint8_t> d;
    const auto zero = hn::Zero(d);
    return words_of_bits(
        d, size, bits,
        [&](std::size_t i) HWY_ATTR { return bits_of(d, hn::Ne(hn::LoadU(d, flags + i), zero)); },
        [&](std::size_t i) { return flags[i] != 0; });
}

template <class T>
HWY_INLINE std::size_t bits_of_runs_of(const T* values, std::size_t size, bool begins, std::uint64_t* bits) {
    if (size == 0) return 0;
    const hn::ScalableTag<T> d;
    const std::uint64_t first = begins || values[0] != values[-1];
    const auto one = [&](std::size_t i) { return i == 0 ? first != 0 : values[i] != values[i - 1]; };
    const std::size_t lanes = hn::Lanes(d);
    const auto vector = [&](std::size_t i) HWY_ATTR -> std::uint64_t {
        if (i == 0) {  // a whole vector could begin before the array
            std::uint64_t word = first;
            for (std::size_t j = 1; j < lanes; ++j) word |= std::uint64_t{values[j] != values[j - 1]} << j;
            return word;
        }
        return bits_of(d, hn::Ne(hn::LoadU(d, values + i), hn::LoadU(d, values + i - 1)));
    };
    return words_of_bits(d, size, bits, vector, one);
}

std::size_t bits_of_runs_32(const std::uint32_t* values, std::size_t size, bool begins, std::uint64_t* bits) {
    return bits_of_runs_of(values, size, begins, bits);
}
std::size_t bits_of_runs_64(const std::uint64_t* values, std::size_t size, bool begins, std::uint64_t* bits) {
    return bits_of_runs_of(values, size, begins, bits);
}

/// Kept values come from an array.
template <class T>
struct from_values {
    const T* values;
    T one(std::size_t i) const { return values[i]; }
    template <class D>
    HWY_INLINE hn::Vec<D> vector(D d, std::size_t i) const {
        return hn::LoadU(d, values + i);
    }
};
/// Kept values are positions.
template <class T>
struct from_positions {
    static constexpr std::size_t max_lanes = HWY_MAX_BYTES / sizeof(T);
    T first;
    HWY_ALIGN T steps[max_lanes];  // Iota() builds them in memory every time

    explicit from_positions(T first_position) : first(first_position), steps() {
        for (std::size_t l = 0; l < max_lanes; ++l) steps[l] = static_cast<T>(l);
    }
    T one(std::size_t i) const { return static_cast<T>(first + i); }
    template <class D>
    HWY_INLINE hn::Vec<D> vector(D d, std::size_t i) const {
        return hn::Add(hn::Set(d, one(i)), hn::Load(d, steps));
    }
};

template <class T, class From>
HWY_INLINE void keep(const From& from, const std::uint64_t* bits, std::size_t size, T* out,
                     std::size_t count) {
    constexpr int few = 6;
    const hn::ScalableTag<T> d;
    const std::size_t lanes = hn::Lanes(d);
    T* const end = out + count;
    for (std::size_t i = 0; i < size; i += 64) {
        std::uint64_t word = bits[i / 64];
        const int kept = std::popcount(word);
        if (kept <= few || static_cast<std::size_t>(end - out) < static_cast<std::size_t>(kept) + lanes) {
            for (; word != 0; word &= word - 1)
                *out++ = from.one(i + static_cast<std::size_t>(std::countr_zero(word)));
        } else if (kept == 64) {
            for (std::size_t v = 0; v < 64; v += lanes) hn::StoreU(from.vector(d, i + v), d, out + v);
            out += 64;
        } else {
            const std::uint64_t all = (std::uint64_t{1} << lanes) - 1;
            for (std::size_t v = 0; v < 64; v += lanes) {
                const std::uint64_t mine = word >> v & all;
                std::uint8_t bytes[8];
                std::memcpy(bytes, &mine, sizeof mine);
                hn::StoreU(hn::CompressBits(from.vector(d, i + v), bytes), d, out);
                out += std::popcount(mine);
            }
        }
    }
}

void keep_values_32(const std::uint32_t* values, const std::uint64_t* bits, std::size_t size,
                    std::uint32_t* out, std::size_t count) {
    keep(from_values<std::uint32_t>{values}, bits, size, out, count);
}
void keep_values_64(const std::uint64_t* values, const std::uint64_t* bits, std::size_t size,
                    std::uint64_t* out, std::size_t count) {
    keep(from_values<std::uint64_t>{values}, bits, size, out, count);
}
void keep_positions_32(std::uint32_t first, const std::uint64_t* bits, std::size_t size, std::uint32_t* out,
                       std::size_t count) {
    keep(from_positions<std::uint32_t>(first), bits, size, out, count);
}
void keep_positions_64(std::uint64_t first, const std::uint64_t* bits, std::size_t size, std::uint64_t* out,
                       std::size_t count) {
    keep(from_positions<std::uint64_t>(first), bits, size, out, count);
}

}  // namespace HWY_NAMESPACE
}  // namespace quern::primitives::select_detail
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace quern::primitives::select_detail {

HWY_EXPORT(bits_of_flags);
HWY_EXPORT(bits_of_runs_32);
HWY_EXPORT(bits_of_runs_64);
HWY_EXPORT(keep_values_32);
HWY_EXPORT(keep_values_64);
HWY_EXPORT(keep_positions_32);
HWY_EXPORT(keep_positions_64);

std::size_t bits_of_flags(const std::uint8_t* flags, std::size_t size, std::uint64_t* bits) {
    return HWY_DYNAMIC_DISPATCH(bits_of_flags)(flags, size, bits);
}
std::size_t bits_of_runs(const std::uint32_t* values, std::size_t size, bool begins, std::uint64_t* bits) {
    return HWY_DYNAMIC_DISPATCH(bits_of_runs_32)(values, size, begins, bits);
}
std::size_t bits_of_runs(const std::uint64_t* values, std::size_t size, bool begins, std::uint64_t* bits) {
    return HWY_DYNAMIC_DISPATCH(bits_of_runs_64)(values, size, begins, bits);
}
void keep_values(const std::uint32_t* values, const std::uint64_t* bits, std::size_t size, std::uint32_t* out,
                 std::size_t count) {
    HWY_DYNAMIC_DISPATCH(keep_values_32)(values, bits, size, out, count);
}
void keep_values(const std::uint64_t* values, const std::uint64_t* bits, std::size_t size, std::uint64_t* out,
                 std::size_t count) {
    HWY_DYNAMIC_DISPATCH(keep_values_64)(values, bits, size, out, count);
}
void keep_positions(std::uint32_t first, const std::uint64_t* bits, std::size_t size, std::uint32_t* out,
                    std::size_t count) {
    HWY_DYNAMIC_DISPATCH(keep_positions_32)(first, bits, size, out, count);
}
void keep_positions(std::uint64_t first, const std::uint64_t* bits, std::size_t size, std::uint64_t* out,
                    std::size_t count) {
    HWY_DYNAMIC_DISPATCH(keep_positions_64)(first, bits, size, out, count);
}

}  // namespace quern::primitives::select_detail
#endif
