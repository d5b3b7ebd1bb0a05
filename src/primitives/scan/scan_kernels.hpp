// SPDX-License-Identifier: Apache-2.0
// Scans of a range of memory with the vector registers of the current processor. Signed numbers and minima are treated as
// unsigned maxima: x ^ flip is monotonous, and 0 is then the identity of both operations.
#pragma once

#include <cstddef>
#include <cstdint>

namespace quern::primitives::scan_detail {

enum class value_types : std::uint8_t { words32, words64, words32_to_64, bytes_to_64 };

struct chunk_scan {
    value_types types = value_types::words32;
    bool maximum = false;  ///< of unsigned numbers; false: the sum
    bool inclusive = true;
    bool streamed = false;  ///< past the caches
    std::uint64_t flip =
        0;  ///< scanned maxima: in memory every value is x ^ flip; `before` and the result are x
};

/// Scans `size` values, starting from `before`; returns `before` ∘ all of them. `in` may be `out`. If `heads` are given,
/// their bit i (bit i % 64 of word i / 64) says that value i begins a segment; up to 7 bytes past the last bit are read.
std::uint64_t scan_values(const chunk_scan& how, const void* in, void* out, std::size_t size,
                          std::uint64_t before, const std::uint64_t* heads = nullptr);

/// Combines all of them; sums are also of x ^ flip.
std::uint64_t fold_values(const chunk_scan& how, const void* in, std::size_t size);

}  // namespace quern::primitives::scan_detail
