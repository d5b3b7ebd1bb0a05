// SPDX-License-Identifier: Apache-2.0
// One thread scans piece by piece; several take pieces in turn (primitives/chained_scan.hpp). In both cases every value is read
// from memory once and every result written once.
#include <algorithm>
#include <limits>
#include <type_traits>

#include "primitives/argument_checks.hpp"
#include "primitives/chained_scan.hpp"
#include "primitives/scan/scan.hpp"
#include "primitives/scan/scan_kernels.hpp"
#include "primitives/segments.hpp"

namespace quern::primitives {
namespace {

using scan_detail::chunk_scan;
using scan_detail::fold_values;
using scan_detail::scan_values;
using scan_detail::value_types;

template <class In, class Out>
chunk_scan as_kernel(scan_operation operation, bool inclusive) {
    chunk_scan how;
    how.types = sizeof(In) == 1            ? value_types::bytes_to_64
                : sizeof(Out) == 4         ? value_types::words32
                : sizeof(In) < sizeof(Out) ? value_types::words32_to_64
                                           : value_types::words64;
    how.inclusive = inclusive;
    how.maximum = operation != scan_operation::sum;
    if (std::is_signed_v<Out>) how.flip = std::uint64_t{1} << (8 * sizeof(Out) - 1);
    if (operation == scan_operation::minimum) how.flip = ~how.flip;
    if (!how.maximum) how.flip = 0;
    return how;
}

/// In the kernels' form: wrapping sums, or maxima of flipped values.
std::uint64_t together(const chunk_scan& how, std::uint64_t a, std::uint64_t b) {
    return how.maximum ? std::max(a, b) : a + b;
}

/// Scans everything; returns the total in the kernels' form.
template <class In, class Out>
std::uint64_t scan_all(cpu_place& place, std::span<const In> in, Out* out, chunk_scan how) {
    how.streamed = worth_streaming(in.size() * sizeof(Out)) && static_cast<const void*>(in.data()) != out;
    constexpr std::size_t each = cached_piece(sizeof(Out));
    const bool alone = threads_for(place, pieces_of(in.size(), each)) == 1;
    std::uint64_t total = 0;  // for one thread, which needs no summary
    return for_each_piece_chained(
        place, in.size(), each, std::uint64_t{0},
        [&](std::size_t, std::size_t begin, std::size_t end) {
            if (!alone) return fold_values(how, in.data() + begin, end - begin);
            const std::uint64_t before = total;
            total = scan_values(how, in.data() + begin, out + begin, end - begin, before);
            return total;
        },
        [&](std::uint64_t before, std::uint64_t mine) { return alone ? mine : together(how, before, mine); },
        [&](std::size_t, std::size_t begin, std::size_t end, std::uint64_t before, std::uint64_t) {
            if (!alone) scan_values(how, in.data() + begin, out + begin, end - begin, before);
        });
}

template <class T>
void scan_segments(cpu_place& place, std::span<const T> in, std::span<const std::uint64_t> offsets, T* out,
                   chunk_scan how) {
    check_offsets(place, offsets, in.size());
    if (in.empty()) return;
    how.streamed = worth_streaming(in.size() * sizeof(T)) && in.data() != out;
    constexpr std::size_t each = cached_piece(sizeof(T)), words = each / 64 + 1;
    const std::span<const std::uint64_t> begins = offsets.first(offsets.size() - 1);
    const auto heads =
        make_array<std::uint64_t>(place, place.threads() * words, "the beginnings of segments");
    struct open_segment {
        std::uint64_t value;
        bool begins_here;
    };
    for_each_piece_chained(
        place, in.size(), each, open_segment{0, false},
        [&](std::size_t slot, std::size_t begin, std::size_t end) {
            std::uint64_t* const bits = heads.data() + slot * words;
            std::fill_n(bits, words, 0);
            std::size_t last = begin;
            bool any = false;
            for (auto s = std::lower_bound(begins.begin(), begins.end(), begin);
                 s != begins.end() && *s < end; ++s, any = true) {
                last = *s;
                bits[(last - begin) / 64] |= std::uint64_t{1} << (last - begin) % 64;
            }
            return open_segment{fold_values(how, in.data() + last, end - last), any};
        },
        [&](const open_segment& before, const open_segment& mine) {
            return mine.begins_here ? mine : open_segment{together(how, before.value, mine.value), false};
        },
        [&](std::size_t slot, std::size_t begin, std::size_t end, const open_segment& before,
            const open_segment& mine) {
            scan_values(how, in.data() + begin, out + begin, end - begin, before.value,
                        mine.begins_here ? heads.data() + slot * words : nullptr);
        });
}

}  // namespace

template <class In, class Out>
    requires scans_into<In, Out>
void inclusive_scan(cpu_place& place, std::span<const In> in, std::span<Out> out, scan_operation operation) {
    check_same_size("inclusive_scan", "in", in.size(), "out", out.size());
    if (!std::is_same_v<In, Out>) check_widening("inclusive_scan", operation == scan_operation::sum);
    scan_all(place, in, out.data(), as_kernel<In, Out>(operation, true));
}

template <class In, class Out>
    requires scans_into<In, Out>
void exclusive_scan(cpu_place& place, std::span<const In> in, std::span<Out> out, scan_operation operation) {
    if (out.size() != in.size() + 1) check_same_size("exclusive_scan", "in", in.size(), "out", out.size());
    if (!std::is_same_v<In, Out>) check_widening("exclusive_scan", operation == scan_operation::sum);
    const chunk_scan how = as_kernel<In, Out>(operation, false);
    const std::uint64_t total = scan_all(place, in, out.data(), how);
    if (out.size() > in.size()) out.back() = static_cast<Out>(total ^ how.flip);
}

template <integer_value T>
void segmented_inclusive_scan(cpu_place& place, std::span<const T> in, std::span<const std::uint64_t> offsets,
                              std::span<T> out, scan_operation operation) {
    check_same_size("segmented_inclusive_scan", "in", in.size(), "out", out.size());
    scan_segments(place, in, offsets, out.data(), as_kernel<T, T>(operation, true));
}

template <integer_value T>
void segmented_exclusive_scan(cpu_place& place, std::span<const T> in, std::span<const std::uint64_t> offsets,
                              std::span<T> out, scan_operation operation) {
    check_same_size("segmented_exclusive_scan", "in", in.size(), "out", out.size());
    scan_segments(place, in, offsets, out.data(), as_kernel<T, T>(operation, false));
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
