// SPDX-License-Identifier: Apache-2.0
// Loops over the entries of a list, several at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace quern::rank_aggregation_detail {

/// Whether no score is greater than the previous one and none is NaN.
bool falls(std::span<const float> scores);
bool falls(std::span<const double> scores);
/// 0 if there is none.
std::uint32_t greatest_id(std::span<const std::uint32_t> ids);

/// The bit of an id in a filter of 2^(32 − shift) bits.
inline std::uint32_t filter_bit(std::uint32_t id, int shift) {
    return id * 2654435769u >> shift;
}
/// Finds the positions of ids whose bits are set; returns their number. `positions` must hold all.
std::size_t find_marked(std::span<const std::uint32_t> ids, const std::uint32_t* words, int shift,
                        std::uint32_t* positions);

/// Takes the entries whose ids are among the `count` from `first` on, in their order, ids relative to `first`; returns
/// their number. The outputs must hold all.
std::size_t take_range(std::span<const std::uint32_t> ids, const float* payloads, std::uint32_t first,
                       std::uint32_t count, std::uint32_t* taken_ids, float* taken_payloads);
std::size_t take_range(std::span<const std::uint32_t> ids, const double* payloads, std::uint32_t first,
                       std::uint32_t count, std::uint32_t* taken_ids, double* taken_payloads);

/// Entries in transfer to buckets of 2^16 objects: gathered in lines, which are written past the caches.
inline constexpr unsigned bucket_bits = 16;
inline constexpr std::uint32_t line_entries = 32;
template <class Payload>
struct alignas(64) bucket_line {
    std::uint16_t ids[line_entries];
    Payload payloads[line_entries];
};
template <class Payload>
struct bucket_targets {
    std::uint16_t* ids;           ///< within their bucket
    Payload* payloads;            ///< aligned to 64 bytes, as the ids
    const std::uint64_t* begins;  ///< starts of buckets there: multiples of line_entries
    std::uint32_t* sizes;         ///< entries written to each bucket
    bucket_line<Payload>* lines;  ///< one per bucket: entries not written yet
};
/// False if a bucket would get more entries than it has objects.
bool partition(std::span<const std::uint32_t> ids, const float* payloads, const bucket_targets<float>& to);
bool partition(std::span<const std::uint32_t> ids, const double* payloads, const bucket_targets<double>& to);

}  // namespace quern::rank_aggregation_detail
