// SPDX-License-Identifier: Apache-2.0
// Sums of whole rows, of csr and coo, and of slabs of ell. Compiled once for each instruction set; Highway chooses at run time.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "primitives/sparse/row_kernels.cpp"
#include "hwy/foreach_target.h"  // must come before highway.h
//
#include "primitives/chosen_lanes-inl.hpp"
#include "primitives/sparse/lane_sums-inl.hpp"
#include "primitives/sparse/sum_kernels.hpp"

HWY_BEFORE_NAMESPACE();
namespace quern::primitives::sparse_detail {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// ---- Rows ----

/// `width` rows at a time: each is summed along its entries into a vector; the vectors are folded together, so that finally
/// lane i is row i. Vector j must hold row fold_order[j].
constexpr std::size_t fold_order[8] = {0, 1, width == 8 ? 4 : 2, width == 8 ? 5 : 3, 2, 3, 6, 7};

template <class Sums>
HWY_INLINE Sums folded(const Sums* rows) {
#if HWY_TARGET == HWY_SCALAR
    return rows[0];
#else
    const doubles d;
    const auto pair_up = [&](const Sums& a, const Sums& b) HWY_ATTR {
        return joined(moved(a, b, [d](vector v, vector w) HWY_ATTR { return hn::InterleaveLower(d, v, w); }),
                      moved(a, b, [d](vector v, vector w) HWY_ATTR { return hn::InterleaveUpper(d, v, w); }));
    };
    if constexpr (width == 2) {
        return pair_up(rows[0], rows[1]);
    } else {
        const auto halves = [&](const Sums& a, const Sums& b) HWY_ATTR {
            return joined(
                moved(a, b, [d](vector v, vector w) HWY_ATTR { return hn::ConcatLowerLower(d, w, v); }),
                moved(a, b, [d](vector v, vector w) HWY_ATTR { return hn::ConcatUpperUpper(d, w, v); }));
        };
        const Sums first = halves(pair_up(rows[0], rows[1]), pair_up(rows[2], rows[3]));
        if constexpr (width == 4) {
            return first;
        } else {
            const Sums second = halves(pair_up(rows[4], rows[5]), pair_up(rows[6], rows[7]));
            return joined(moved(first, second,
                                [](vector v, vector w)
                                    HWY_ATTR { return hn::OddEvenBlocks(hn::SwapAdjacentBlocks(w), v); }),
                          moved(first, second, [](vector v, vector w) HWY_ATTR {
                              return hn::OddEvenBlocks(w, hn::SwapAdjacentBlocks(v));
                          }));
        }
    }
#endif
}

/// The sum of a row in the lanes of a vector, and its number of additions. Of a row of floats that has no more entries than a
/// vector, only the sum of the lanes may round; so lanes of floats are joined with the errors of these additions.
template <class Value>
struct row_lanes {
    using sums = std::conditional_t<std::is_same_v<Value, float>, checked_sums<float>, lane_sums<double>>;
};
HWY_INLINE checked_sums<float> lanes_of(const lane_sums<float>& sums, std::size_t terms) {
    return checked_by_bound(sums, static_cast<double>(terms));
}
HWY_INLINE lane_sums<double> lanes_of(const lane_sums<double>& sums, std::size_t /*terms*/) {
    return sums;
}
HWY_INLINE checked_sums<float> lanes_of(vector a, vector x, float type) {
    return checked_products(a, x, type);
}
HWY_INLINE lane_sums<double> lanes_of(vector a, vector x, double /*type*/) {
    return first_products(a, x, static_cast<lane_sums<double>*>(nullptr));
}

/// A row that may be read past its end. Most rows of most matrices have no more entries than a vector, and then no branch
/// distinguishes them.
template <class Value>
HWY_INLINE typename row_lanes<Value>::sums sum_readable_row(const entries<Value>& from, std::size_t begin,
                                                            std::size_t end) {
    vector a, x;
    if (HWY_LIKELY(end - begin <= width)) {
        ask_for(from, begin + ahead);
        load_factors(from, begin, end - begin, a, x);
        return lanes_of(a, x, Value());
    }
    ask_for(from, begin + ahead);
    load_factors(from, begin, a, x);
    lane_sums<Value> sums = first_products(a, x, static_cast<lane_sums<Value>*>(nullptr));
    std::size_t at = begin + width;
    for (; at + width <= end; at += width) {
        ask_for(from, at + ahead);
        load_factors(from, at, a, x);
        add_products(a, x, sums);
    }
    load_factors(from, at, end - at, a, x);
    add_products(a, x, sums);
    return lanes_of(sums, end - begin);
}

/// Stores the settled Values of the folded rows, and returns the others' lanes.
HWY_INLINE std::uint64_t left_open(const checked_sums<float>& rows, const std::int64_t* /*terms*/, float* y) {
    return ~bits_of(settle(rows, y));
}
HWY_INLINE std::uint64_t left_open(const lane_sums<double>& rows, const std::int64_t* terms, double* y) {
    const doubles d;
    const vector n = hn::ConvertTo(d, hn::Load(indices64(), terms));
    const mask empty = hn::Eq(n, hn::Zero(d));  // its sum is +0, which has no bound
    return ~bits_of(hn::Or(settle(rows, hn::Add(n, hn::Set(d, width)), y), empty));
}

/// Whether a sum that knows all its errors may settle an open row: not one of a vector of floats, which had such a sum, nor one of
/// doubles whose products may all be zero.
HWY_INLINE bool may_settle(std::uint64_t count, float /*sum*/) {
    return count > width;
}
HWY_INLINE bool may_settle(std::uint64_t /*count*/, double sum) {
    return sum != 0;
}

/// Stores the Values of those rows of the lanes `left` that such sums settle, and returns their lanes. The entries must be readable
/// past the rows' ends.
template <class Value>
HWY_INLINE std::uint64_t settle_exact(const entries<Value>& from, const std::uint64_t* begins,
                                      std::uint64_t left, Value* y) {
    checked_sums<Value> checked[width];
    std::uint64_t summed = 0;
    for (std::size_t j = 0; j < width; ++j) {
        const std::size_t lane = fold_order[j];
        checked[j] = no_checked_sums<Value>();
        if ((left >> lane & 1) == 0 || !may_settle(begins[lane + 1] - begins[lane], y[lane])) continue;
        summed |= std::uint64_t{1} << lane;
        for (std::size_t at = begins[lane]; at < begins[lane + 1]; at += width) {
            vector a, x;
            load_factors(from, at, std::min<std::size_t>(width, begins[lane + 1] - at), a, x);
            add_checked(a, x, checked[j]);
        }
    }
    return summed == 0 ? 0 : settle_checked(folded(checked), summed, y);
}

/// Stores the settled rows, and appends the positions of the others among the current `count` rows, relative to `first`.
/// `readable`: entries may be read past the rows' ends.
template <class Value>
HWY_INLINE std::size_t finish_rows(const entries<Value>& from, const std::uint64_t* begins, bool readable,
                                   const typename row_lanes<Value>::sums* rows, const std::int64_t* terms,
                                   std::size_t count, std::size_t first, Value* y, std::uint32_t* open) {
    Value few[width];
    Value* const found = count == width ? y + first : few;
    std::uint64_t left = left_open(folded(rows), terms, found) & ((std::uint64_t{1} << count) - 1);
    if (HWY_UNLIKELY(left != 0) && readable) left &= ~settle_exact(from, begins, left, found);
    if (HWY_UNLIKELY(count != width)) std::copy_n(few, count, y + first);
    std::size_t opened = 0;
    for (; HWY_UNLIKELY(left != 0); left &= left - 1)
        open[opened++] = static_cast<std::uint32_t>(first + hwy::Num0BitsBelowLS1Bit_Nonzero64(left));
    return opened;
}

template <class Value>
HWY_INLINE std::size_t rows_of(const entries<Value>& from, const std::uint64_t* offsets, std::size_t rows,
                               Value* y, std::uint32_t* open) {
    std::size_t opened = 0;
    for (std::size_t first = 0; first < rows; first += width) {
        const std::size_t count = std::min(width, rows - first);
        const std::uint64_t* const begins = offsets + first;
        typename row_lanes<Value>::sums sums[width];
        HWY_ALIGN std::int64_t terms[width] = {};
        const bool readable = count == width && begins[width] + 2 * width <= from.readable;
        if (HWY_LIKELY(readable)) {
            for (std::size_t j = 0; j < width; ++j) {
                const std::size_t lane = fold_order[j];
                terms[lane] = static_cast<std::int64_t>(begins[lane + 1] - begins[lane]);
                sums[j] = sum_readable_row(from, begins[lane], begins[lane + 1]);
            }
        } else {
            for (std::size_t j = 0; j < width; ++j) {
                const std::size_t lane = fold_order[j];
                sums[j] = lanes_of(no_sums<Value>(), 0);
                if (lane >= count) continue;
                terms[lane] = static_cast<std::int64_t>(begins[lane + 1] - begins[lane]);
                sums[j] =
                    lanes_of(sum_row(from, begins[lane], begins[lane + 1]), begins[lane + 1] - begins[lane]);
            }
        }
        opened += finish_rows(from, begins, readable, sums, terms, count, first, y, open + opened);
    }
    return opened;
}

std::size_t rows_f32(const entries<float>& from, const std::uint64_t* offsets, std::size_t rows, float* y,
                     std::uint32_t* open) {
    return rows_of(from, offsets, rows, y, open);
}
std::size_t rows_f64(const entries<double>& from, const std::uint64_t* offsets, std::size_t rows, double* y,
                     std::uint32_t* open) {
    return rows_of(from, offsets, rows, y, open);
}

bool range_adds_nothing(const entries<double>& from, std::size_t begin, std::size_t end) {
    const doubles d;
    const vector zero = hn::Zero(d);
    for (std::size_t at = begin; at < end; at += width) {
        if (HWY_UNLIKELY(at + width > from.readable)) {
            for (; at < end; ++at)
                if (from.value[at] != 0 && from.x[from.column[at]] != 0) return false;
            return true;
        }
        vector a, x;
        load_factors(from, at, std::min(width, end - at), a, x);
        if (!hn::AllFalse(d, hn::And(hn::Ne(a, zero), hn::Ne(x, zero)))) return false;
    }
    return true;
}

std::size_t row_begins(const std::uint32_t* row, std::size_t begin, std::size_t end, std::uint64_t* found) {
    const hn::CappedTag<std::uint32_t, 16> d;
    const std::size_t lanes = hn::Lanes(d);
    std::uint32_t relative[max_scanned + 16] = {};
    std::size_t count = 0, i = begin;
    for (; i + lanes <= end; i += lanes) {
        const auto differs = hn::Ne(hn::LoadU(d, row + i), hn::LoadU(d, row + i - 1));
        if (hn::AllFalse(d, differs)) continue;
        const auto position = hn::Add(hn::Iota(d, 0), hn::Set(d, static_cast<std::uint32_t>(i - begin)));
        count += primitives::HWY_NAMESPACE::put_chosen(d, position, differs, relative + count);
    }
    for (; i < end; ++i) {
        relative[count] = static_cast<std::uint32_t>(i - begin);
        count += static_cast<std::size_t>(row[i] != row[i - 1]);
    }
    for (std::size_t k = 0; k < count; ++k) found[k] = begin + relative[k];
    return count;
}
// ---- Slabs ----

template <class Value>
HWY_INLINE std::size_t tile_of(const entries<Value>& from, std::size_t first, std::size_t count,
                               std::size_t rows, std::size_t ell_slices, Value* y, std::uint32_t* open) {
    const doubles d;
    stored_sums<max_tile_rows> sums = {};
    const std::size_t whole = count / width * width, rest = count - whole;
    for (std::size_t k = 0; k < ell_slices; ++k) {
        const std::size_t slice = k * rows + first;
        lane_sums<Value> lane;
        vector a, x;
        for (std::size_t l = 0; l < whole; l += width) {
            ask_for(from, slice + rows + l);
            if (!load_padded(from, slice + l, a, x)) continue;
            load(sums, l, lane);
            add_products(a, x, lane);
            store(lane, l, sums);
        }
        if (rest != 0) {
            std::uint32_t column[width];
            Value value[width] = {};
            std::fill(std::copy_n(from.column + slice + whole, rest, column), column + width, padding);
            std::copy_n(from.value + slice + whole, rest, value);
            load(sums, whole, lane);
            if (load_padded(entries<Value>{column, value, width, from.x}, 0, a, x)) add_products(a, x, lane);
            store(lane, whole, sums);
        }
    }
    std::size_t opened = 0;
    const vector terms = hn::Set(d, static_cast<double>(ell_slices));
    for (std::size_t l = 0; l < count; l += width) {
        lane_sums<Value> lane;
        load(sums, l, lane);
        Value found[width];
        std::uint64_t left = ~bits_of(settle(lane, terms, found));
        const std::size_t present = std::min(width, count - l);
        std::copy_n(found, present, y + l);
        for (left &= (std::uint64_t{1} << present) - 1; left != 0; left &= left - 1)
            open[opened++] = static_cast<std::uint32_t>(l + hwy::Num0BitsBelowLS1Bit_Nonzero64(left));
    }
    return opened;
}

std::size_t tile_f32(const entries<float>& from, std::size_t first, std::size_t count, std::size_t rows,
                     std::size_t ell_slices, float* y, std::uint32_t* open) {
    return tile_of(from, first, count, rows, ell_slices, y, open);
}
std::size_t tile_f64(const entries<double>& from, std::size_t first, std::size_t count, std::size_t rows,
                     std::size_t ell_slices, double* y, std::uint32_t* open) {
    return tile_of(from, first, count, rows, ell_slices, y, open);
}

}  // namespace HWY_NAMESPACE
}  // namespace quern::primitives::sparse_detail
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace quern::primitives::sparse_detail {

HWY_EXPORT(rows_f32);
HWY_EXPORT(rows_f64);
HWY_EXPORT(row_begins);
HWY_EXPORT(range_adds_nothing);
HWY_EXPORT(tile_f32);
HWY_EXPORT(tile_f64);

std::size_t sum_rows(const entries<float>& from, const std::uint64_t* offsets, std::size_t rows, float* y,
                     std::uint32_t* open) {
    return HWY_DYNAMIC_DISPATCH(rows_f32)(from, offsets, rows, y, open);
}
std::size_t sum_rows(const entries<double>& from, const std::uint64_t* offsets, std::size_t rows, double* y,
                     std::uint32_t* open) {
    return HWY_DYNAMIC_DISPATCH(rows_f64)(from, offsets, rows, y, open);
}
bool adds_nothing(const entries<double>& from, std::size_t begin, std::size_t end) {
    return HWY_DYNAMIC_DISPATCH(range_adds_nothing)(from, begin, end);
}
std::size_t find_row_begins(const std::uint32_t* row, std::size_t begin, std::size_t end,
                            std::uint64_t* found) {
    return HWY_DYNAMIC_DISPATCH(row_begins)(row, begin, end, found);
}
std::size_t sum_tile(const entries<float>& from, std::size_t first, std::size_t count, std::size_t rows,
                     std::size_t width, float* y, std::uint32_t* open) {
    return HWY_DYNAMIC_DISPATCH(tile_f32)(from, first, count, rows, width, y, open);
}
std::size_t sum_tile(const entries<double>& from, std::size_t first, std::size_t count, std::size_t rows,
                     std::size_t width, double* y, std::uint32_t* open) {
    return HWY_DYNAMIC_DISPATCH(tile_f64)(from, first, count, rows, width, y, open);
}

}  // namespace quern::primitives::sparse_detail
#endif  // HWY_ONCE
