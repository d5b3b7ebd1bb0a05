// SPDX-License-Identifier: Apache-2.0
// Segments for kernels, checked on the device without waiting for it. The check records the fault and sets `broken`, a word
// on the device; every later kernel that follows an offset tests it first, and does nothing if it is set. So an invalid
// offset is never followed, and everything enqueued afterwards stays in bounds.
#pragma once

#include <cstddef>
#include <cstdint>

#include "device/array.hpp"
#include "primitives/segments.hpp"

namespace quern::primitives {

/// The kernels' view. `offsets` has count + 1 entries; they may be followed unless broken().
struct segments_view {
    const std::uint64_t* offsets;
    std::uint64_t count;
    const std::uint32_t* broken_word;

    /// Call it at the head of a kernel, in every thread.
    __device__ bool broken() const { return *broken_word != 0; }
};

/// The check of primitives/segments.hpp, enqueued; it reports the same segment. Owns the word; must live until the kernels
/// that read it are enqueued. `items`: unknown_items if the last offset gives their number; then the last segment is also
/// rejected if segments and items together are 2⁶⁴ or more.
class checked_segments {
  public:
    static constexpr std::uint64_t unknown_items = ~std::uint64_t{0};

    checked_segments(cuda_place& place, device_span<const std::uint64_t> offsets, std::uint64_t items)
        : checked_segments(place, offsets, items, 0, 0) {}
    /// Also marks where segments begin, and provides zeros that the caller needs: one allocation and one fill for all. Bit
    /// i of heads() (bit i % 32 of word i / 32) is set if a non-empty segment has its first item there; head_words ≥ (items
    /// + 31) / 32, or 0 for no marks. zeros() are aligned to 256 bytes.
    checked_segments(cuda_place& place, device_span<const std::uint64_t> offsets, std::uint64_t items,
                     std::size_t head_words, std::size_t zero_bytes);

    segments_view view() const {
        return {offsets_.data(), segments_in(offsets_.size()), heads_ + head_words_};
    }
    device_span<std::uint32_t> heads() const { return {heads_, head_words_}; }
    void* zeros() const { return memory_.data(); }

  private:
    device_span<const std::uint64_t> offsets_;
    cuda_array<std::uint32_t> memory_;  ///< the zeros, the marks, the word for broken
    std::uint32_t* heads_;
    std::size_t head_words_;
};

}  // namespace quern::primitives
