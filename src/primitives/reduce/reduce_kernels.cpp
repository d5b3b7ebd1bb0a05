// SPDX-License-Identifier: Apache-2.0
// The 32 lanes of the canonical sum are four vectors at a time: one pass over a block with 512 bits, two with 256, four
// with 128. A lane adds its values in turn, for any width. Missing values are read as +0: no lane is ever −0 (it starts
// with +0), so adding +0 changes none. Compiled once for each instruction set; Highway chooses at run time.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "primitives/reduce/reduce_kernels.cpp"
#include "hwy/foreach_target.h"  // must come before highway.h
//
#include <algorithm>
#include <cstdint>
#include <cstring>

#include "hwy/highway.h"
#include "primitives/reduce/reduce_kernels.hpp"

HWY_BEFORE_NAMESPACE();
namespace quern::primitives::reduce_detail {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using doubles = hn::CappedTag<double, 8>;

HWY_INLINE hn::Vec<doubles> load_wide(const double* values) {
    return hn::LoadU(doubles(), values);
}
HWY_INLINE hn::Vec<doubles> load_wide(const float* values) {
    return hn::PromoteTo(doubles(), hn::LoadU(hn::Rebind<float, doubles>(), values));
}

/// Folds lanes l and l + h for h = 16, 8, 4, 2, 1.
HWY_INLINE double fold_lanes(double* lanes) {
    const doubles d;
    const std::size_t width = hn::Lanes(d);
    std::size_t h = block_lanes / 2;
    for (; h >= width; h /= 2)
        for (std::size_t l = 0; l < h; l += width)
            hn::Store(hn::Add(hn::Load(d, lanes + l), hn::Load(d, lanes + l + h)), d, lanes + l);
    for (; h >= 1; h /= 2)
        for (std::size_t l = 0; l < h; ++l) lanes[l] += lanes[l + h];
    return lanes[0];
}

template <class T>
HWY_INLINE double sum_few(const T* values, std::size_t size) {
    double lanes[8] = {};
    for (std::size_t l = 0; l < size; ++l) lanes[l] = 0.0 + static_cast<double>(values[l]);
    for (std::size_t h = 4; h >= 1; h /= 2)
        for (std::size_t l = 0; l < h; ++l) lanes[l] += lanes[l + h];
    return lanes[0];
}

template <class T>
HWY_INLINE double sum_of_block(const T* values, std::size_t size, std::size_t readable) {
    if (size <= 8) return sum_few(values, size);
    const doubles d;
    const std::size_t width = hn::Lanes(d), whole = size / block_lanes * block_lanes, rest = size - whole;
    T padded[block_lanes];
    const T* last_row = values + whole;
    if (rest != 0 && whole + block_lanes > readable) {
        std::fill(std::copy_n(last_row, rest, padded), padded + block_lanes, T(0));
        last_row = padded;
    }
    HWY_ALIGN double lanes[block_lanes];
    for (std::size_t first = 0; first < block_lanes; first += 4 * width) {
        auto a = hn::Zero(d), b = a, c = a, e = a;
        for (const T* row = values + first; row < values + whole; row += block_lanes) {
            a = hn::Add(a, load_wide(row));
            b = hn::Add(b, load_wide(row + width));
            c = hn::Add(c, load_wide(row + 2 * width));
            e = hn::Add(e, load_wide(row + 3 * width));
        }
        if (rest != 0) {
            const auto present = [&](std::size_t l) HWY_ATTR {
                const auto mask = hn::FirstN(d, rest > first + l ? rest - first - l : 0);
                return hn::IfThenElseZero(mask, load_wide(last_row + first + l));
            };
            a = hn::Add(a, present(0));
            b = hn::Add(b, present(width));
            c = hn::Add(c, present(2 * width));
            e = hn::Add(e, present(3 * width));
        }
        hn::Store(a, d, lanes + first);
        hn::Store(b, d, lanes + first + width);
        hn::Store(c, d, lanes + first + 2 * width);
        hn::Store(e, d, lanes + first + 3 * width);
    }
    return fold_lanes(lanes);
}

template <class T>
HWY_INLINE void sums_of_blocks(const T* values, std::size_t size, double* sums) {
    for (std::size_t begin = 0; begin < size; begin += block_size)
        *sums++ = sum_of_block(values + begin, std::min(block_size, size - begin), size - begin);
}

template <class T, bool Greatest>
float_extreme<T> extreme_of(const T* values, std::size_t size, T start) {
    const hn::ScalableTag<T> d;
    const std::size_t lanes = hn::Lanes(d);
    const auto further = [](auto a, auto b) HWY_ATTR { return Greatest ? hn::Max(a, b) : hn::Min(a, b); };
    auto a = hn::Set(d, start), b = a, c = a, e = a;
    auto none = hn::FirstN(d, 0);
    const auto take = [&](auto& into, std::size_t i) HWY_ATTR {
        const auto v = hn::LoadU(d, values + i);
        none = hn::Or(none, hn::IsNaN(v));
        into = further(into, v);
    };
    std::size_t i = 0;
    for (; i + 4 * lanes <= size; i += 4 * lanes) {
        take(a, i);
        take(b, i + lanes);
        take(c, i + 2 * lanes);
        take(e, i + 3 * lanes);
    }
    for (; i + lanes <= size; i += lanes) take(a, i);
    HWY_ALIGN T each[HWY_MAX_BYTES / sizeof(T)];
    hn::Store(further(further(a, b), further(c, e)), d, each);
    float_extreme<T> found{start, !hn::AllFalse(d, none)};
    const auto take_one = [&](T value) {
        found.not_a_number |= value != value;
        if (Greatest ? value > found.value : value < found.value) found.value = value;
    };
    if (!found.not_a_number) std::for_each(each, each + lanes, take_one);
    std::for_each(values + i, values + size, take_one);
    return found;
}

double sum_block_float(const float* values, std::size_t size, std::size_t readable) {
    return sum_of_block(values, size, readable);
}
double sum_block_double(const double* values, std::size_t size, std::size_t readable) {
    return sum_of_block(values, size, readable);
}
void sum_blocks_float(const float* values, std::size_t size, double* sums) {
    sums_of_blocks(values, size, sums);
}
void sum_blocks_double(const double* values, std::size_t size, double* sums) {
    sums_of_blocks(values, size, sums);
}
float_extreme<float> extreme_float(const float* values, std::size_t size, float start, bool greatest) {
    return greatest ? extreme_of<float, true>(values, size, start)
                    : extreme_of<float, false>(values, size, start);
}
float_extreme<double> extreme_double(const double* values, std::size_t size, double start, bool greatest) {
    return greatest ? extreme_of<double, true>(values, size, start)
                    : extreme_of<double, false>(values, size, start);
}

}  // namespace HWY_NAMESPACE
}  // namespace quern::primitives::reduce_detail
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace quern::primitives::reduce_detail {

HWY_EXPORT(sum_block_float);
HWY_EXPORT(sum_block_double);
HWY_EXPORT(sum_blocks_float);
HWY_EXPORT(sum_blocks_double);
HWY_EXPORT(extreme_float);
HWY_EXPORT(extreme_double);

double sum_block(const float* values, std::size_t size, std::size_t readable) {
    return HWY_DYNAMIC_DISPATCH(sum_block_float)(values, size, readable);
}
double sum_block(const double* values, std::size_t size, std::size_t readable) {
    return HWY_DYNAMIC_DISPATCH(sum_block_double)(values, size, readable);
}
void sum_blocks(const float* values, std::size_t size, double* sums) {
    HWY_DYNAMIC_DISPATCH(sum_blocks_float)(values, size, sums);
}
void sum_blocks(const double* values, std::size_t size, double* sums) {
    HWY_DYNAMIC_DISPATCH(sum_blocks_double)(values, size, sums);
}
float_extreme<float> extreme(const float* values, std::size_t size, float start, bool greatest) {
    return HWY_DYNAMIC_DISPATCH(extreme_float)(values, size, start, greatest);
}
float_extreme<double> extreme(const double* values, std::size_t size, double start, bool greatest) {
    return HWY_DYNAMIC_DISPATCH(extreme_double)(values, size, start, greatest);
}

}  // namespace quern::primitives::reduce_detail
#endif
