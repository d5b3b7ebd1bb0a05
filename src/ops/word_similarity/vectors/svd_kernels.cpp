// SPDX-License-Identifier: Apache-2.0
// Compiled once for each instruction set; Highway chooses at run time. Multiplications and additions stay separate: not
// every processor can fuse them, and the bits must not depend on that. They are fused where products are exact, as those
// of floats are in double: then the sum is rounded once either way.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/word_similarity/vectors/svd_kernels.cpp"
#include "hwy/foreach_target.h"  // must come before highway.h
//
#include <algorithm>

#include "hwy/cache_control.h"
#include "hwy/highway.h"
#include "ops/word_similarity/vectors/svd.hpp"

HWY_BEFORE_NAMESPACE();
namespace quern::word_similarity_detail {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using floats = hn::CappedTag<float, lane_group>;
using doubles = hn::CappedTag<double, lane_group / 2>;

template <bool exact, class V>
HWY_INLINE V plus_product(V sum, V a, V b) {
    return exact ? hn::MulAdd(a, b, sum) : hn::Add(sum, hn::Mul(a, b));
}

// Rows of `a` against two registers of columns: two sums a row. With the two registers of `b` and one of `a`, six rows fit the
// sixteen registers of AVX2; eight, where there are 32.
constexpr std::size_t rows_at_once = HWY_TARGET <= HWY_AVX3 || HWY_ARCH_ARM ? 8 : 6;

template <bool exact, std::size_t rows, class D>
HWY_INLINE void add_rows(const product<hn::TFromD<D>>& p, std::size_t i, std::size_t j) {
    using T = hn::TFromD<D>;
    const D d;
    const std::size_t lanes = hn::Lanes(d);
    auto s00 = hn::Zero(d), s01 = s00, s10 = s00, s11 = s00, s20 = s00, s21 = s00, s30 = s00, s31 = s00;
    auto s40 = s00, s41 = s00, s50 = s00, s51 = s00, s60 = s00, s61 = s00, s70 = s00, s71 = s00;
    const T* a = p.a + i * p.row_step;
    const T* b = p.b + j;
    for (std::size_t k = 0; k < p.depth; ++k, a += p.depth_step, b += p.b_stride) {
        const auto b0 = hn::LoadU(d, b), b1 = hn::LoadU(d, b + lanes);
        const auto add = [&](std::size_t row, auto& left, auto& right) HWY_ATTR {
            const auto x = hn::Set(d, a[row * p.row_step]);
            left = plus_product<exact>(left, x, b0), right = plus_product<exact>(right, x, b1);
        };
        add(0, s00, s01);
        if constexpr (rows > 1) add(1, s10, s11);
        if constexpr (rows > 2) add(2, s20, s21), add(3, s30, s31);
        if constexpr (rows > 4) add(4, s40, s41), add(5, s50, s51);
        if constexpr (rows > 6) add(6, s60, s61), add(7, s70, s71);
    }
    const auto store = [&](std::size_t row, auto left, auto right) HWY_ATTR {
        T* const out = p.out + (i + row) * p.out_stride + j;
        hn::StoreU(hn::Add(hn::LoadU(d, out), left), d, out);
        hn::StoreU(hn::Add(hn::LoadU(d, out + lanes), right), d, out + lanes);
    };
    store(0, s00, s01);
    if constexpr (rows > 1) store(1, s10, s11);
    if constexpr (rows > 2) store(2, s20, s21), store(3, s30, s31);
    if constexpr (rows > 4) store(4, s40, s41), store(5, s50, s51);
    if constexpr (rows > 6) store(6, s60, s61), store(7, s70, s71);
}

// One row against one register of columns.
template <bool exact, class D>
HWY_INLINE void add_one(const product<hn::TFromD<D>>& p, std::size_t i, std::size_t j) {
    using T = hn::TFromD<D>;
    const D d;
    auto sum = hn::Zero(d);
    const T* a = p.a + i * p.row_step;
    const T* b = p.b + j;
    for (std::size_t k = 0; k < p.depth; ++k, a += p.depth_step, b += p.b_stride)
        sum = plus_product<exact>(sum, hn::Set(d, *a), hn::LoadU(d, b));
    T* const out = p.out + i * p.out_stride + j;
    hn::StoreU(hn::Add(hn::LoadU(d, out), sum), d, out);
}

template <bool exact, class D>
HWY_INLINE void add_all(const product<hn::TFromD<D>>& p) {
    const std::size_t lanes = hn::Lanes(D()), pair = 2 * lanes;
    std::size_t j = 0;
    for (; j + pair <= p.columns; j += pair) {
        std::size_t i = 0;
        for (; i + rows_at_once <= p.rows; i += rows_at_once) add_rows<exact, rows_at_once, D>(p, i, j);
        for (; i + 4 <= p.rows; i += 4) add_rows<exact, 4, D>(p, i, j);
        for (; i + 2 <= p.rows; i += 2) add_rows<exact, 2, D>(p, i, j);
        for (; i < p.rows; ++i) add_rows<exact, 1, D>(p, i, j);
    }
    for (; j < p.columns; j += lanes)
        for (std::size_t i = 0; i < p.rows; ++i) add_one<exact, D>(p, i, j);
}

void add_product_float(const product<float>& p) {
    add_all<false, floats>(p);
}
void add_product_double(const product<double>& p) {
    add_all<false, doubles>(p);
}
void add_exact_product(const product<double>& p) {
    add_all<true, doubles>(p);
}

// One, two or four registers of a row of x. The rows of x are far apart: later ones are prefetched early.
constexpr std::size_t entries_ahead = 12;

template <std::size_t registers>
HWY_INLINE void multiply_part(const sparse_row& row, float scale, const float* x, std::size_t width,
                              float* out) {
    const floats d;
    const std::size_t lanes = hn::Lanes(d);
    const auto zero = hn::Zero(d);
    auto t0 = hn::LoadU(d, out), t1 = zero, t2 = zero, t3 = zero;
    if constexpr (registers > 1) t1 = hn::LoadU(d, out + lanes);
    if constexpr (registers > 2) t2 = hn::LoadU(d, out + 2 * lanes), t3 = hn::LoadU(d, out + 3 * lanes);
    for (std::size_t begin = 0; begin < row.entries; begin += entries_at_once) {
        auto s0 = zero, s1 = zero, s2 = zero, s3 = zero;
        for (std::size_t e = begin, end = std::min(row.entries, begin + entries_at_once); e < end; ++e) {
            const std::size_t ahead = std::min(e + entries_ahead, row.entries - 1);
            const float* const next = x + row.columns[ahead] * width;
            const float* const at = x + row.columns[e] * width;
            const auto weight = hn::Set(d, row.weights[e] * scale);
            const auto add = [&](std::size_t number, auto& sum) HWY_ATTR {
                hwy::Prefetch(next + number * lanes);
                sum = hn::Add(sum, hn::Mul(weight, hn::LoadU(d, at + number * lanes)));
            };
            add(0, s0);
            if constexpr (registers > 1) add(1, s1);
            if constexpr (registers > 2) add(2, s2), add(3, s3);
        }
        t0 = hn::Add(t0, s0), t1 = hn::Add(t1, s1), t2 = hn::Add(t2, s2), t3 = hn::Add(t3, s3);
    }
    hn::StoreU(t0, d, out);
    if constexpr (registers > 1) hn::StoreU(t1, d, out + lanes);
    if constexpr (registers > 2) hn::StoreU(t2, d, out + 2 * lanes), hn::StoreU(t3, d, out + 3 * lanes);
}

void multiply_one_row(const sparse_row& row, float scale, const float* x, std::size_t width, float* out) {
    const std::size_t lanes = hn::Lanes(floats());
    std::size_t j = 0;
    for (; j + 4 * lanes <= width; j += 4 * lanes) multiply_part<4>(row, scale, x + j, width, out + j);
    for (; j + 2 * lanes <= width; j += 2 * lanes) multiply_part<2>(row, scale, x + j, width, out + j);
    for (; j < width; j += lanes) multiply_part<1>(row, scale, x + j, width, out + j);
}

void widen_all(const float* from, std::size_t size, double* to) {
    const doubles d;
    const hn::Rebind<float, doubles> f;
    for (std::size_t i = 0; i < size; i += hn::Lanes(d))
        hn::StoreU(hn::PromoteTo(d, hn::LoadU(f, from + i)), d, to + i);
}

void rotate_all(double* rows, const rotation* rotations, std::size_t count) {
    const doubles d;
    for (std::size_t r = 0; r < count; ++r) {
        double* const x = rows + rotations[r].first * rotated_width;
        double* const y = x + rotated_width;
        const auto c = hn::Set(d, rotations[r].c), s = hn::Set(d, rotations[r].s);
        for (std::size_t j = 0; j < rotated_width; j += hn::Lanes(d)) {
            const auto old_x = hn::LoadU(d, x + j), old_y = hn::LoadU(d, y + j);
            hn::StoreU(hn::Sub(hn::Mul(c, old_x), hn::Mul(s, old_y)), d, x + j);
            hn::StoreU(hn::Add(hn::Mul(s, old_x), hn::Mul(c, old_y)), d, y + j);
        }
    }
}

}  // namespace HWY_NAMESPACE
}  // namespace quern::word_similarity_detail
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace quern::word_similarity_detail {

HWY_EXPORT(add_product_float);
HWY_EXPORT(add_product_double);
HWY_EXPORT(add_exact_product);
HWY_EXPORT(multiply_one_row);
HWY_EXPORT(widen_all);
HWY_EXPORT(rotate_all);

void add_product(const product<float>& p) {
    HWY_DYNAMIC_DISPATCH(add_product_float)(p);
}
void add_product(const product<double>& p) {
    HWY_DYNAMIC_DISPATCH(add_product_double)(p);
}
void add_exact_product(const product<double>& p) {
    HWY_DYNAMIC_DISPATCH(add_exact_product)(p);
}
void multiply_row(const sparse_row& row, float scale, const float* x, std::size_t width, float* out) {
    HWY_DYNAMIC_DISPATCH(multiply_one_row)(row, scale, x, width, out);
}
void widen(const float* from, std::size_t size, double* to) {
    HWY_DYNAMIC_DISPATCH(widen_all)(from, size, to);
}
void rotate_rows(double* rows, const rotation* rotations, std::size_t count) {
    HWY_DYNAMIC_DISPATCH(rotate_all)(rows, rotations, count);
}

}  // namespace quern::word_similarity_detail
#endif
