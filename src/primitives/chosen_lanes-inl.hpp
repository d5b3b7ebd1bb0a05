// SPDX-License-Identifier: Apache-2.0
// Some lanes of a vector, written one after another. Included once for each instruction set.
#include <cstddef>

#include "hwy/highway.h"

#if defined(QUERN_SIMD_CHOSEN_LANES) == defined(HWY_TARGET_TOGGLE)
#ifdef QUERN_SIMD_CHOSEN_LANES
#undef QUERN_SIMD_CHOSEN_LANES
#else
#define QUERN_SIMD_CHOSEN_LANES
#endif

HWY_BEFORE_NAMESPACE();
namespace quern::primitives {
namespace HWY_NAMESPACE {

/// Writes the chosen lanes in order, and other values after them up to a whole vector; returns their number. Highway's
/// CompressStore is one instruction with AVX-512, for which an AMD Zen 4 takes more than a hundred cycles; it compresses into
/// a register in a few.
template <class D, class Vector, class Mask>
HWY_INLINE std::size_t put_chosen(D d, Vector values, Mask chosen, hwy::HWY_NAMESPACE::TFromD<D>* to) {
    hwy::HWY_NAMESPACE::StoreU(hwy::HWY_NAMESPACE::Compress(values, chosen), d, to);
    return hwy::HWY_NAMESPACE::CountTrue(d, chosen);
}

}  // namespace HWY_NAMESPACE
}  // namespace quern::primitives
HWY_AFTER_NAMESPACE();

#endif
