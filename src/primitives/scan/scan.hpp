// SPDX-License-Identifier: Apache-2.0
// Prefix sums, maxima and minima of integers, of a whole array and within segments. Contract class: exact. Sums wrap like
// unsigned integers of the output's width (signed too: two's complement), so the order of additions does not matter.
#pragma once

#include <concepts>
#include <cstdint>
#include <span>

#include "device/array.hpp"
#include "primitives/types.hpp"

namespace quern::primitives {

enum class scan_operation { sum, maximum, minimum };

/// An integer type to itself, or lengths and flags to sums of 64 bits (usage_error for another operation).
template <class In, class Out>
concept scans_into = (integer_value<In> && std::same_as<In, Out>) ||
                     (one_of<In, std::uint8_t, std::uint32_t> && std::same_as<Out, std::uint64_t>);

/// out[i] = in[0] ∘ … ∘ in[i]. `out` may be `in` itself if the types are the same. Throws usage_error if the sizes differ.
/// Extra memory: CPU none; CUDA 16 bytes for each 2,000 values or more. CUDA: does not synchronise.
template <class In, class Out>
    requires scans_into<In, Out>
void inclusive_scan(cpu_place& place, std::span<const In> in, std::span<Out> out,
                    scan_operation operation = scan_operation::sum);
template <class In, class Out>
    requires scans_into<In, Out>
void inclusive_scan(cuda_place& place, device_span<const In> in, device_span<Out> out,
                    scan_operation operation = scan_operation::sum);

/// out[i] = in[0] ∘ … ∘ in[i − 1]; out[0] is the operation's identity (0; the type's minimum; its maximum). `out` may have
/// one entry more than `in`, which is then the total, so that lengths become offsets. Otherwise as inclusive_scan.
template <class In, class Out>
    requires scans_into<In, Out>
void exclusive_scan(cpu_place& place, std::span<const In> in, std::span<Out> out,
                    scan_operation operation = scan_operation::sum);
template <class In, class Out>
    requires scans_into<In, Out>
void exclusive_scan(cuda_place& place, device_span<const In> in, device_span<Out> out,
                    scan_operation operation = scan_operation::sum);

/// The same within each segment: every segment starts anew. Segments as in primitives/segments.hpp. `out` has the size of
/// `in` and may be `in` itself. Extra memory: CPU some KB per thread; CUDA one bit more per value. CUDA: does not
/// synchronise; invalid offsets are thrown when the place is next synchronised.
template <integer_value T>
void segmented_inclusive_scan(cpu_place& place, std::span<const T> in, std::span<const std::uint64_t> offsets,
                              std::span<T> out, scan_operation operation = scan_operation::sum);
template <integer_value T>
void segmented_inclusive_scan(cuda_place& place, device_span<const T> in,
                              device_span<const std::uint64_t> offsets, device_span<T> out,
                              scan_operation operation = scan_operation::sum);
template <integer_value T>
void segmented_exclusive_scan(cpu_place& place, std::span<const T> in, std::span<const std::uint64_t> offsets,
                              std::span<T> out, scan_operation operation = scan_operation::sum);
template <integer_value T>
void segmented_exclusive_scan(cuda_place& place, device_span<const T> in,
                              device_span<const std::uint64_t> offsets, device_span<T> out,
                              scan_operation operation = scan_operation::sum);

}  // namespace quern::primitives
