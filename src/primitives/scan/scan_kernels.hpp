// SPDX-License-Identifier: Apache-2.0
// Scans of a stretch of memory in the vector registers of the processor at hand. Signed numbers and minima are
// seen as unsigned maxima: x ^ flip is monotonous, and 0 is then the identity of both operations.
#pragma once

#include <cstddef>
#include <cstdint>

namespace quern::primitives::scan_detail {

enum class value_types : std::uint8_t { words32, words64, words32_to_64, bytes_to_64 };

struct stretch_scan {
    value_types types = value_types::words32;
    bool maximum = false;  ///< of unsigned numbers, else the sum
    bool inclusive = true;
    bool streamed = false;  ///< past the caches
    std::uint64_t flip =
        0;  ///< scanned maxima: in memory every value is x ^ flip; `before` and the result are x
};

/// Scans `size` values with `before` in front of them; returns `before` ∘ all of them. `in` may be `out`. Where
/// `heads` are given, bit i of them (bit i % 64 of word i / 64) says that value i begins a segment; 7 bytes behind
/// the last bit are read.
std::uint64_t scan_values(const stretch_scan& how, const void* in, void* out, std::size_t size,
                          std::uint64_t before, const std::uint64_t* heads = nullptr);

/// All of them together; sums too are taken of x ^ flip.
std::uint64_t fold_values(const stretch_scan& how, const void* in, std::size_t size);

}  // namespace quern::primitives::scan_detail
