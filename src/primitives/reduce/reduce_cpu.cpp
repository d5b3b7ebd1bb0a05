// SPDX-License-Identifier: Apache-2.0
// Blocks of the canonical sum are independent of each other: pieces of whole blocks go to threads, then the sums of blocks
// are summed by the same rule. Integers and extremes are folded in any order. Segments are cut along the merge path, so
// that all pieces have equal numbers of items and segments; giant segments, which would make one piece long, are skipped
// and then reduced by all threads, one after another.
#include <algorithm>
#include <limits>
#include <mutex>
#include <type_traits>
#include <vector>

#include "device/cpu/parallel.hpp"
#include "primitives/argument_checks.hpp"
#include "primitives/first_position.hpp"
#include "primitives/load_balance/merge_path.hpp"
#include "primitives/reduce/reduce.hpp"
#include "primitives/reduce/reduce_kernels.hpp"
#include "primitives/scan/scan_kernels.hpp"
#include "primitives/segments.hpp"

namespace quern::primitives {
namespace {

using reduce_detail::block_size;

constexpr std::size_t piece_size = 64 * block_size, giant = 2 * piece_size;

double canonical(double sum) {
    return sum == sum ? sum : std::numeric_limits<double>::quiet_NaN();
}

/// Integers of type T under one operation, in the kernels' form: sums of x ^ flip, maxima of x ^ flip.
template <class T>
scan_detail::chunk_scan integer_fold(reduce_operation operation) {
    using scan_detail::value_types;
    scan_detail::chunk_scan how;
    how.maximum = operation != reduce_operation::sum;
    how.types = sizeof(T) == 1   ? value_types::bytes_to_64
                : sizeof(T) == 8 ? value_types::words64
                : how.maximum    ? value_types::words32
                                 : value_types::words32_to_64;
    if (std::is_signed_v<T> && (how.maximum || sizeof(T) < 8))
        how.flip = std::uint64_t{1} << (8 * sizeof(T) - 1);
    if (operation == reduce_operation::minimum)
        how.flip ^= std::numeric_limits<std::make_unsigned_t<T>>::max();
    return how;
}

/// A reduction of Ts: the state carried between ranges, and the final step.
template <class T>
class reduction {
  public:
    using partial = std::conditional_t<std::is_floating_point_v<T>, double, std::uint64_t>;

    reduction(reduce_operation operation, std::span<const T> values)
        : operation_(operation), values_(values) {
        if constexpr (std::is_integral_v<T>) how_ = integer_fold<T>(operation);
    }

    bool is_canonical_sum() const {
        return std::is_floating_point_v<T> && operation_ == reduce_operation::sum;
    }
    partial identity() const {
        if constexpr (std::is_floating_point_v<T>)
            return operation_ == reduce_operation::sum       ? 0
                   : operation_ == reduce_operation::maximum ? -std::numeric_limits<double>::infinity()
                                                             : std::numeric_limits<double>::infinity();
        else
            return 0;
    }
    /// For values [begin, end): not for a canonical sum of more than one block. Records the first NaN of extremes.
    partial fold(std::size_t begin, std::size_t end, first_position& nan) const {
        const T* const from = values_.data() + begin;
        if constexpr (std::is_integral_v<T>) {
            return scan_detail::fold_values(how_, from, end - begin);
        } else {
            if (operation_ == reduce_operation::sum)
                return reduce_detail::sum_block(from, end - begin, values_.size() - begin);
            const auto found = reduce_detail::extreme(from, end - begin, static_cast<T>(identity()),
                                                      operation_ == reduce_operation::maximum);
            if (found.not_a_number)
                nan.note(begin +
                         static_cast<std::size_t>(
                             std::find_if(from, from + (end - begin), [](T v) { return v != v; }) - from));
            return found.value;
        }
    }
    partial together(partial a, partial b) const {
        if (operation_ == reduce_operation::sum) return a + b;
        if (std::is_floating_point_v<T> && operation_ == reduce_operation::minimum) return std::min(a, b);
        return std::max(a, b);
    }
    /// The result for `count` values.
    reduced_type<T> end(partial all, std::uint64_t count) const {
        if constexpr (std::is_floating_point_v<T>) {
            return canonical(all) + 0.0;  // −0 + 0 = +0
        } else {
            if (how_.maximum) return static_cast<reduced_type<T>>(static_cast<T>(all ^ how_.flip));
            return static_cast<reduced_type<T>>(all - count * how_.flip);
        }
    }

  private:
    reduce_operation operation_;
    std::span<const T> values_;
    scan_detail::chunk_scan how_;
};

/// For any number of values, by the definition, on one thread.
template <class T>
double sum_levels(const T* values, std::size_t size) {
    if (size <= block_size) return reduce_detail::sum_block(values, size, size);
    std::vector<double> sums((size + block_size - 1) / block_size);
    reduce_detail::sum_blocks(values, size, sums.data());
    return sum_levels(sums.data(), sums.size());
}

/// On all threads.
template <class T>
double canonical_sum(cpu_place& place, std::span<const T> values) {
    const auto sums =
        make_array<double>(place, (values.size() + block_size - 1) / block_size, "sums of blocks");
    const std::size_t pieces = (values.size() + piece_size - 1) / piece_size;
    for_each_piece(place, pieces, [&](std::size_t p) {
        place.ctx().check_stop();
        const std::size_t begin = p * piece_size, end = std::min(begin + piece_size, values.size());
        reduce_detail::sum_blocks(values.data() + begin, end - begin, sums.data() + begin / block_size);
    });
    return sum_levels(sums.data(), sums.size());
}

/// Values [begin, end) on all threads.
template <class T>
reduced_type<T> reduce_chunk(cpu_place& place, const reduction<T>& how, std::span<const T> values,
                             std::size_t begin, std::size_t end, first_position& nan) {
    if constexpr (std::is_floating_point_v<T>) {
        if (how.is_canonical_sum())
            return how.end(canonical_sum(place, values.subspan(begin, end - begin)), end - begin);
    }
    const std::size_t pieces = (end - begin + piece_size - 1) / piece_size;
    std::vector<typename reduction<T>::partial> partials(pieces);
    for_each_piece(place, pieces, [&](std::size_t p) {
        place.ctx().check_stop();
        const std::size_t from = begin + p * piece_size;
        partials[p] = how.fold(from, std::min(from + piece_size, end), nan);
    });
    auto all = how.identity();
    for (const auto partial : partials) all = how.together(all, partial);
    return how.end(all, end - begin);
}

}  // namespace

template <reducible T>
reduced_type<T> reduce(cpu_place& place, std::span<const T> values, reduce_operation operation) {
    first_position nan;
    const reduction<T> how(operation, values);
    const auto found = reduce_chunk(place, how, values, 0, values.size(), nan);
    nan.throw_if_any(fault::key_not_a_number);
    return found;
}

template <reducible T>
void segmented_reduce(cpu_place& place, std::span<const T> values, std::span<const std::uint64_t> offsets,
                      std::span<reduced_type<T>> out, reduce_operation operation) {
    const std::size_t segments = segments_in(offsets.size());
    check_one_per_segment("segmented_reduce", "out", out.size(), segments);
    check_offsets(place, offsets, values.size());
    const reduction<T> how(operation, values);
    first_position nan;
    std::mutex mutex;
    std::vector<std::size_t> giants;
    const auto reduce_segment = [&](std::size_t s) {
        const std::size_t begin = offsets[s], end = offsets[s + 1];
        if constexpr (std::is_floating_point_v<T>) {
            if (end - begin > block_size && how.is_canonical_sum()) {
                out[s] = how.end(sum_levels(values.data() + begin, end - begin), end - begin);
                return;
            }
        }
        out[s] = how.end(how.fold(begin, end, nan), end - begin);
    };
    const std::uint64_t steps = segments + values.size(), pieces = (steps + piece_size - 1) / piece_size;
    for_each_piece(place, pieces, [&](std::size_t p) {
        place.ctx().check_stop();
        const std::uint64_t end = merge_path_at(offsets, share_of(steps, p + 1, pieces)).segment;
        for (std::size_t s = merge_path_at(offsets, share_of(steps, p, pieces)).segment; s < end; ++s) {
            if (offsets[s + 1] - offsets[s] <= giant) {
                reduce_segment(s);
            } else {
                const std::lock_guard hold(mutex);
                giants.push_back(s);
            }
        }
    });
    for (const std::size_t s : giants)
        out[s] = reduce_chunk(place, how, values, offsets[s], offsets[s + 1], nan);
    nan.throw_if_any(fault::key_not_a_number);
}

// NOLINTBEGIN(bugprone-macro-parentheses): the arguments are types
#define QUERN_INSTANTIATE(T)                                                                       \
    template reduced_type<T> reduce(cpu_place&, std::span<const T>, reduce_operation);             \
    template void segmented_reduce(cpu_place&, std::span<const T>, std::span<const std::uint64_t>, \
                                   std::span<reduced_type<T>>, reduce_operation);
QUERN_INSTANTIATE(std::uint8_t)
QUERN_INSTANTIATE(std::uint32_t)
QUERN_INSTANTIATE(std::int32_t)
QUERN_INSTANTIATE(std::uint64_t)
QUERN_INSTANTIATE(std::int64_t)
QUERN_INSTANTIATE(float)
QUERN_INSTANTIATE(double)
#undef QUERN_INSTANTIATE
// NOLINTEND(bugprone-macro-parentheses)

}  // namespace quern::primitives
