// SPDX-License-Identifier: Apache-2.0
// Prefix operations the slow, obvious way: one value after another. Segments are cut out and scanned separately.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <vector>

#include "primitives/scan/scan.hpp"

namespace quern::reference {

template <class T>
T scan_identity(primitives::scan_operation operation) {
    if (operation == primitives::scan_operation::maximum) return std::numeric_limits<T>::lowest();
    if (operation == primitives::scan_operation::minimum) return std::numeric_limits<T>::max();
    return 0;
}

template <class T>
T scan_combine(primitives::scan_operation operation, T a, T b) {
    if (operation == primitives::scan_operation::maximum) return std::max(a, b);
    if (operation == primitives::scan_operation::minimum) return std::min(a, b);
    using wrapping = std::make_unsigned_t<T>;
    return static_cast<T>(static_cast<wrapping>(a) + static_cast<wrapping>(b));
}

/// One entry more than `in`: the prefix before each value, and the total.
template <class Out, class In>
std::vector<Out> exclusive_scan(const std::vector<In>& in, primitives::scan_operation operation) {
    std::vector<Out> out = {scan_identity<Out>(operation)};
    for (const In value : in) out.push_back(scan_combine(operation, out.back(), static_cast<Out>(value)));
    return out;
}

template <class Out, class In>
std::vector<Out> inclusive_scan(const std::vector<In>& in, primitives::scan_operation operation) {
    std::vector<Out> out = exclusive_scan<Out>(in, operation);
    out.erase(out.begin());
    return out;
}

template <class T>
std::vector<T> segmented_scan(const std::vector<T>& in, const std::vector<std::uint64_t>& offsets,
                              primitives::scan_operation operation, bool inclusive) {
    std::vector<T> out;
    for (std::size_t s = 0; s + 1 < offsets.size(); ++s) {
        const std::vector<T> segment(in.begin() + static_cast<std::ptrdiff_t>(offsets[s]),
                                     in.begin() + static_cast<std::ptrdiff_t>(offsets[s + 1]));
        std::vector<T> scanned =
            inclusive ? inclusive_scan<T>(segment, operation) : exclusive_scan<T>(segment, operation);
        scanned.resize(segment.size());
        out.insert(out.end(), scanned.begin(), scanned.end());
    }
    return out;
}

}  // namespace quern::reference
