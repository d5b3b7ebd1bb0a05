// SPDX-License-Identifier: Apache-2.0
// The checks of the primitives' entry points before any work, with the same messages on every place (usage_error).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace quern::primitives {

/// Rejects sizes that differ: "compact: values has 5 entries, but flags has 4".
void check_same_size(std::string_view function, std::string_view name, std::size_t size,
                     std::string_view other_name, std::size_t other_size);

/// Rejects an output that is too small: "compact: out has 3 entries, but 5 are needed".
void check_capacity(std::string_view function, std::string_view name, std::size_t size, std::uint64_t needed);

/// Rejects numbers beyond 32 bits: "compact_positions: 4294967296 flags need 64-bit positions". Accepts 2³² − 1 of
/// anything.
void check_32_bits(std::string_view function, std::uint64_t count, std::string_view counted,
                   std::string_view numbers);

/// Rejects an output without exactly one entry per segment: "segmented_reduce: out has 3 entries, but there are 2
/// segments".
void check_one_per_segment(std::string_view function, std::string_view name, std::size_t size,
                           std::size_t segments);

/// Rejects all operations but sums if the result has a wider type.
void check_widening(std::string_view function, bool is_sum);

}  // namespace quern::primitives
