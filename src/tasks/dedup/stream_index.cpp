// SPDX-License-Identifier: Apache-2.0
#include "tasks/dedup/stream_index.hpp"

#include <bit>

namespace quern {

std::size_t stream_index::shelf_of(std::uint64_t length) {
    if (length < 16) return length;
    const auto shift = static_cast<unsigned>(std::bit_width(length)) - 5;  // five bits remain
    return 16 + std::size_t{16} * shift + (length >> shift) - 16;
}

void stream_index::add(std::uint32_t document, const text_sketch& text) {
    const std::size_t at = shelf_of(text.length);
    if (at >= shelves_.size()) shelves_.resize(at + 1);
    shelf& s = shelves_[at];
    s.lengths.push_back(text.length);
    s.documents.push_back(document);
    s.sketches.insert(s.sketches.end(), text.counts.begin(), text.counts.end());
}

std::uint64_t stream_index::memory_bytes() const {
    std::uint64_t bytes = shelves_.capacity() * sizeof(shelf);
    for (const shelf& s : shelves_) {
        bytes += 4 * (s.lengths.capacity() + s.documents.capacity()) + s.sketches.capacity();
    }
    return bytes;
}

}  // namespace quern
