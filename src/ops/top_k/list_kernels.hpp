// SPDX-License-Identifier: Apache-2.0
// Loops over the entries of a list, several at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace quern::top_k_detail {

/// Whether no score is greater than the one before it; NaN is neither.
bool falls(std::span<const float> scores);
bool falls(std::span<const double> scores);
/// 0 where there is none.
std::uint32_t greatest_id(std::span<const std::uint32_t> ids);

/// The bit that stands for an id in a filter of 2^(32 − shift) bits.
inline std::uint32_t filter_bit(std::uint32_t id, int shift) {
    return id * 2654435769u >> shift;
}
/// The positions of ids whose bits are set; how many. `positions` has room for all.
std::size_t find_marked(std::span<const std::uint32_t> ids, const std::uint32_t* words, int shift,
                        std::uint32_t* positions);

/// Copies past the caches: whole lines of 64 bytes, both aligned to them. Seen by others after end_streaming().
void stream_lines(const void* from, void* to, std::size_t lines);
void end_streaming();

}  // namespace quern::top_k_detail
