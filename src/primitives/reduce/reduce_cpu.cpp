// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>
#include <type_traits>
#include <vector>

#include "device/fault.hpp"
#include "primitives/doors.hpp"
#include "primitives/reduce/reduce.hpp"
#include "primitives/segments.hpp"

namespace quern::primitives {
namespace {

template <class T>
double block_sum(const T* values, std::size_t size) {
    double lanes[32] = {};
    for (std::size_t i = 0; i < size; ++i) lanes[i % 32] += static_cast<double>(values[i]);
    for (std::size_t h = 16; h > 0; h /= 2)
        for (std::size_t l = 0; l < h; ++l) lanes[l] += lanes[l + h];
    return lanes[0];
}

template <class T>
double canonical_sum(const T* values, std::size_t size) {
    if (size <= 1024) return block_sum(values, size);
    std::vector<double> sums;
    for (std::size_t i = 0; i < size; i += 1024)
        sums.push_back(block_sum(values + i, std::min<std::size_t>(1024, size - i)));
    return canonical_sum(sums.data(), sums.size());
}

template <class T>
reduced_type<T> reduce_stretch(const T* values, std::size_t begin, std::size_t end,
                               reduce_operation operation) {
    using limits = std::numeric_limits<T>;
    if (operation == reduce_operation::sum) {
        if constexpr (std::is_floating_point_v<T>) {
            const double sum = canonical_sum(values + begin, end - begin);
            return sum == sum ? sum : std::numeric_limits<double>::quiet_NaN();
        } else {
            std::uint64_t sum = 0;
            for (std::size_t i = begin; i < end; ++i) sum += static_cast<std::uint64_t>(values[i]);
            return static_cast<reduced_type<T>>(sum);
        }
    }
    const bool greatest = operation == reduce_operation::maximum;
    T found = greatest ? limits::lowest() : limits::max();
    if (limits::has_infinity) found = greatest ? -limits::infinity() : limits::infinity();
    for (std::size_t i = begin; i < end; ++i) {
        if (values[i] != values[i]) throw_fault(fault::key_not_a_number, i);
        found = greatest ? std::max(found, values[i]) : std::min(found, values[i]);
    }
    return static_cast<reduced_type<T>>(found) + 0;  // −0 + 0 = +0
}

}  // namespace

template <reducible T>
reduced_type<T> reduce(cpu_place&, std::span<const T> values, reduce_operation operation) {
    return reduce_stretch(values.data(), 0, values.size(), operation);
}

template <reducible T>
void segmented_reduce(cpu_place& place, std::span<const T> values, std::span<const std::uint64_t> offsets,
                      std::span<reduced_type<T>> out, reduce_operation operation) {
    const std::size_t segments = segments_in(offsets.size());
    check_one_per_segment("segmented_reduce", "out", out.size(), segments);
    check_offsets(place, offsets, values.size());
    for (std::size_t s = 0; s < segments; ++s)
        out[s] = reduce_stretch(values.data(), offsets[s], offsets[s + 1], operation);
}

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

}  // namespace quern::primitives
