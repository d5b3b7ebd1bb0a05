// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>
#include <type_traits>

#include "primitives/doors.hpp"
#include "primitives/scan/scan.hpp"
#include "primitives/segments.hpp"

namespace quern::primitives {
namespace {

template <class T, scan_operation Operation>
struct operation {
    static constexpr T identity = Operation == scan_operation::sum       ? T(0)
                                  : Operation == scan_operation::maximum ? std::numeric_limits<T>::lowest()
                                                                         : std::numeric_limits<T>::max();
    static T combine(T a, T b) {
        using wrapping = std::make_unsigned_t<T>;
        if constexpr (Operation == scan_operation::sum)
            return static_cast<T>(static_cast<wrapping>(a) + static_cast<wrapping>(b));
        if constexpr (Operation == scan_operation::maximum) return std::max(a, b);
        return std::min(a, b);
    }
};

/// work(operation<T, …>()) for the operation that is asked for.
template <class T, class Work>
void with_operation(scan_operation asked, const Work& work) {
    if (asked == scan_operation::sum) return work(operation<T, scan_operation::sum>());
    if (asked == scan_operation::maximum) return work(operation<T, scan_operation::maximum>());
    return work(operation<T, scan_operation::minimum>());
}

template <bool Inclusive, class Operation, class In, class Out>
Out scan_stretch(const In* in, Out* out, std::size_t size, Out before) {
    for (std::size_t i = 0; i < size; ++i) {
        const Out with = Operation::combine(before, static_cast<Out>(in[i]));
        out[i] = Inclusive ? with : before;
        before = with;
    }
    return before;
}

template <bool Inclusive, class T>
void segmented_scan(cpu_place& place, std::span<const T> in, std::span<const std::uint64_t> offsets,
                    std::span<T> out, scan_operation asked) {
    check_offsets(place, offsets, in.size());
    with_operation<T>(asked, [&]<class Operation>(Operation) {
        for (std::size_t s = 0; s < segments_in(offsets.size()); ++s)
            scan_stretch<Inclusive, Operation>(in.data() + offsets[s], out.data() + offsets[s],
                                               offsets[s + 1] - offsets[s], Operation::identity);
    });
}

}  // namespace

template <class In, class Out>
    requires scans_into<In, Out>
void inclusive_scan(cpu_place&, std::span<const In> in, std::span<Out> out, scan_operation asked) {
    check_same_size("inclusive_scan", "in", in.size(), "out", out.size());
    if (!std::is_same_v<In, Out>) check_widening("inclusive_scan", asked == scan_operation::sum);
    with_operation<Out>(asked, [&]<class Operation>(Operation) {
        scan_stretch<true, Operation>(in.data(), out.data(), in.size(), Operation::identity);
    });
}

template <class In, class Out>
    requires scans_into<In, Out>
void exclusive_scan(cpu_place&, std::span<const In> in, std::span<Out> out, scan_operation asked) {
    if (out.size() != in.size() + 1) check_same_size("exclusive_scan", "in", in.size(), "out", out.size());
    if (!std::is_same_v<In, Out>) check_widening("exclusive_scan", asked == scan_operation::sum);
    with_operation<Out>(asked, [&]<class Operation>(Operation) {
        const Out total =
            scan_stretch<false, Operation>(in.data(), out.data(), in.size(), Operation::identity);
        if (out.size() > in.size()) out.back() = total;
    });
}

template <integer_value T>
void segmented_inclusive_scan(cpu_place& place, std::span<const T> in, std::span<const std::uint64_t> offsets,
                              std::span<T> out, scan_operation asked) {
    check_same_size("segmented_inclusive_scan", "in", in.size(), "out", out.size());
    segmented_scan<true>(place, in, offsets, out, asked);
}

template <integer_value T>
void segmented_exclusive_scan(cpu_place& place, std::span<const T> in, std::span<const std::uint64_t> offsets,
                              std::span<T> out, scan_operation asked) {
    check_same_size("segmented_exclusive_scan", "in", in.size(), "out", out.size());
    segmented_scan<false>(place, in, offsets, out, asked);
}

#define QUERN_INSTANTIATE(IN, OUT)                                                                 \
    template void inclusive_scan(cpu_place&, std::span<const IN>, std::span<OUT>, scan_operation); \
    template void exclusive_scan(cpu_place&, std::span<const IN>, std::span<OUT>, scan_operation);
#define QUERN_INSTANTIATE_SEGMENTED(T)                                                                     \
    QUERN_INSTANTIATE(T, T)                                                                                \
    template void segmented_inclusive_scan(cpu_place&, std::span<const T>, std::span<const std::uint64_t>, \
                                           std::span<T>, scan_operation);                                  \
    template void segmented_exclusive_scan(cpu_place&, std::span<const T>, std::span<const std::uint64_t>, \
                                           std::span<T>, scan_operation);
QUERN_INSTANTIATE_SEGMENTED(std::uint32_t)
QUERN_INSTANTIATE_SEGMENTED(std::int32_t)
QUERN_INSTANTIATE_SEGMENTED(std::uint64_t)
QUERN_INSTANTIATE_SEGMENTED(std::int64_t)
QUERN_INSTANTIATE(std::uint8_t, std::uint64_t)
QUERN_INSTANTIATE(std::uint32_t, std::uint64_t)
#undef QUERN_INSTANTIATE_SEGMENTED
#undef QUERN_INSTANTIATE

}  // namespace quern::primitives
