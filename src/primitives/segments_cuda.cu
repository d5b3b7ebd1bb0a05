// SPDX-License-Identifier: Apache-2.0
#include "device/cuda/check.cuh"
#include "device/cuda/portable.cuh"
#include "primitives/segments.cuh"

namespace quern::primitives {
namespace {

constexpr unsigned block_threads = 256;

/// Thread s checks segment s; thread 0 also the two ends. `heads` null: no marks. Neighbours of a warp that mark bits of
/// one word send one atomic for all: short segments would otherwise queue up at few addresses. No shared memory; any grid
/// that covers the offsets.
__global__ void check_offsets_kernel(const std::uint64_t* offsets, std::uint64_t count, std::uint64_t items,
                                     std::uint32_t* heads, std::uint32_t* broken, std::uint64_t* fault_word) {
    const std::uint64_t s = std::uint64_t{blockIdx.x} * block_threads + threadIdx.x;
    const bool counted = items != checked_segments::unknown_items;
    if (!counted) items = offsets[count];
    const auto refuse = [&](std::uint64_t segment) {
        atomicExch(broken, 1u);  // by any number of threads
        cuda::note_fault(fault_word, fault::offsets_not_rising, segment);
    };
    if (s == 0) {
        if (offsets[0] != 0) refuse(0);
        if (offsets[count] != items) refuse(count == 0 ? 0 : count - 1);
        if (!counted && items > ~count)
            refuse(count - 1);  // with the segments' ends, more than 64 bits are needed
    }
    std::uint64_t begin = 0, end = 0;
    if (s < count) {
        begin = offsets[s];
        end = offsets[s + 1];
        if (end < begin || end > items) refuse(s);
    }
    const bool marks = heads != nullptr && begin < end && end <= items;
    const unsigned marking = __ballot_sync(~0u, marks);
    if (!marks) return;
    const std::uint64_t word = begin / 32;
    const unsigned peers = __match_any_sync(marking, word);
    const unsigned bits = cuda::union_of_lanes(peers, 1u << (begin % 32));
    if (threadIdx.x % 32 == __ffs(static_cast<int>(peers)) - 1u) atomicOr(heads + word, bits);
}

}  // namespace

checked_segments::checked_segments(cuda_place& place, device_span<const std::uint64_t> offsets,
                                   std::uint64_t items, std::size_t head_words, std::size_t zero_bytes)
    : offsets_(offsets),
      memory_(place, (zero_bytes + 3) / 4 + head_words + 1, "the check of offsets"),
      heads_(memory_.data() + (zero_bytes + 3) / 4),
      head_words_(head_words) {
    if (offsets.empty() && items != 0 && items != unknown_items) throw_fault(fault::offsets_not_rising, 0);
    place.fill_bytes(memory_.data(), 0, memory_.span().size_bytes());
    if (offsets.empty()) return;
    const std::uint64_t count = segments_in(offsets.size());
    const cuda::launch_shape shape{cuda::blocks_for(count == 0 ? 1 : count, block_threads), block_threads};
    QUERN_LAUNCH(place, shape, check_offsets_kernel, offsets.data(), count, items,
                 head_words == 0 ? nullptr : heads_, heads_ + head_words, place.fault_word());
}

}  // namespace quern::primitives
