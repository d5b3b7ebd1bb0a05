// SPDX-License-Identifier: Apache-2.0
// Compiled once for each instruction set; Highway chooses at run time.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/word_similarity/vectors/similar_vectors_kernels.cpp"
#include "hwy/foreach_target.h"  // must come before highway.h
//
#include "hwy/highway.h"
#include "ops/word_similarity/vectors/similar_vectors_kernels.hpp"

HWY_BEFORE_NAMESPACE();
namespace quern::word_similarity_detail {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using floats = hn::CappedTag<float, strip_width / 2>;

// Six rows by two registers of columns: with 512 bits the whole strip at once.
HWY_INLINE std::uint32_t score_part(const score_task& task, std::size_t j) {
    const floats d;
    const std::size_t lanes = hn::Lanes(d), n = task.dimensions;
    auto s00 = hn::Zero(d), s01 = s00, s10 = s00, s11 = s00, s20 = s00, s21 = s00;
    auto s30 = s00, s31 = s00, s40 = s00, s41 = s00, s50 = s00, s51 = s00;
    const float* a = task.rows;
    const float* b = task.strip + j;
    for (std::size_t k = 0; k < n; ++k, ++a, b += strip_width) {
        const auto b0 = hn::LoadU(d, b), b1 = hn::LoadU(d, b + lanes);
        auto x = hn::Set(d, a[0]);
        s00 = hn::MulAdd(x, b0, s00), s01 = hn::MulAdd(x, b1, s01);
        x = hn::Set(d, a[n]);
        s10 = hn::MulAdd(x, b0, s10), s11 = hn::MulAdd(x, b1, s11);
        x = hn::Set(d, a[2 * n]);
        s20 = hn::MulAdd(x, b0, s20), s21 = hn::MulAdd(x, b1, s21);
        x = hn::Set(d, a[3 * n]);
        s30 = hn::MulAdd(x, b0, s30), s31 = hn::MulAdd(x, b1, s31);
        x = hn::Set(d, a[4 * n]);
        s40 = hn::MulAdd(x, b0, s40), s41 = hn::MulAdd(x, b1, s41);
        x = hn::Set(d, a[5 * n]);
        s50 = hn::MulAdd(x, b0, s50), s51 = hn::MulAdd(x, b1, s51);
    }
    const auto limit0 = hn::LoadU(d, task.column_limits + j);
    const auto limit1 = hn::LoadU(d, task.column_limits + j + lanes);
    std::uint32_t found = 0;
    const auto check = [&](std::uint32_t r, auto left, auto right) HWY_ATTR {
        const auto limit = hn::Set(d, task.row_limits[r]);
        const auto above =
            hn::Or(hn::Ge(left, hn::Min(limit, limit0)), hn::Ge(right, hn::Min(limit, limit1)));
        if (HWY_LIKELY(hn::AllFalse(d, above))) return;
        found |= std::uint32_t{1} << r;
    };
    check(0, s00, s01), check(1, s10, s11), check(2, s20, s21);
    check(3, s30, s31), check(4, s40, s41), check(5, s50, s51);
    const auto store = [&](std::size_t r, auto left, auto right) HWY_ATTR {
        hn::StoreU(left, d, task.scores + r * strip_width + j);
        hn::StoreU(right, d, task.scores + r * strip_width + j + lanes);
    };
    store(0, s00, s01), store(1, s10, s11), store(2, s20, s21);
    store(3, s30, s31), store(4, s40, s41), store(5, s50, s51);
    return found;
}

std::uint32_t score_all(const score_task& task) {
    std::uint32_t found = 0;
    for (std::size_t j = 0; j < strip_width; j += 2 * hn::Lanes(floats())) found |= score_part(task, j);
    return found;
}

}  // namespace HWY_NAMESPACE
}  // namespace quern::word_similarity_detail
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace quern::word_similarity_detail {

HWY_EXPORT(score_all);
std::uint32_t score_strip(const score_task& task) {
    return HWY_DYNAMIC_DISPATCH(score_all)(task);
}

}  // namespace quern::word_similarity_detail
#endif
