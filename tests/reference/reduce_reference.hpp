// SPDX-License-Identifier: Apache-2.0
// Reductions the slow, obvious way. The canonical sum of floats is the definition of primitives/reduce/reduce.hpp,
// sentence by sentence.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <vector>

#include "primitives/reduce/reduce.hpp"

namespace quern::reference {

/// One block of at most 1,024 values.
inline double block_sum(const std::vector<double>& values, std::size_t begin) {
    double lane[32] = {};
    for (std::size_t l = 0; l < 32; ++l) {
        for (std::size_t i = l; i < 1024; i += 32)
            if (begin + i < values.size()) lane[l] += values[begin + i];
    }
    for (std::size_t h = 16; h >= 1; h /= 2)
        for (std::size_t l = 0; l < h; ++l) lane[l] += lane[l + h];
    return lane[0];
}

inline double canonical_sum(std::vector<double> values) {
    if (values.empty()) return 0;
    do {
        std::vector<double> sums;
        for (std::size_t begin = 0; begin < values.size(); begin += 1024)
            sums.push_back(block_sum(values, begin));
        values = sums;
    } while (values.size() > 1);
    return values[0] == values[0] ? values[0] : std::numeric_limits<double>::quiet_NaN();
}

template <class T>
primitives::reduced_type<T> reduce(const std::vector<T>& values, primitives::reduce_operation operation) {
    using result = primitives::reduced_type<T>;
    using limits = std::numeric_limits<T>;
    if (operation == primitives::reduce_operation::sum) {
        if constexpr (std::is_floating_point_v<T>) {
            return canonical_sum(std::vector<double>(values.begin(), values.end()));
        } else {
            std::uint64_t sum = 0;
            for (const T value : values) sum += static_cast<std::uint64_t>(value);
            return static_cast<result>(sum);
        }
    }
    const bool greatest = operation == primitives::reduce_operation::maximum;
    T found = greatest ? limits::lowest() : limits::max();
    if (limits::has_infinity) found = greatest ? -limits::infinity() : limits::infinity();
    for (const T value : values) found = greatest ? std::max(found, value) : std::min(found, value);
    return found == 0 ? 0 : static_cast<result>(found);
}

template <class T>
std::vector<primitives::reduced_type<T>> segmented_reduce(const std::vector<T>& values,
                                                          const std::vector<std::uint64_t>& offsets,
                                                          primitives::reduce_operation operation) {
    std::vector<primitives::reduced_type<T>> out;
    for (std::size_t s = 0; s + 1 < offsets.size(); ++s)
        out.push_back(reduce(std::vector<T>(values.begin() + static_cast<std::ptrdiff_t>(offsets[s]),
                                            values.begin() + static_cast<std::ptrdiff_t>(offsets[s + 1])),
                             operation));
    return out;
}

}  // namespace quern::reference
