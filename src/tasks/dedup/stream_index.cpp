// SPDX-License-Identifier: Apache-2.0
#include "tasks/dedup/stream_index.hpp"

#include <algorithm>
#include <array>
#include <bit>

#include "ops/near_duplicates/filter/pair_bounds.hpp"
#include "ops/near_duplicates/filter/sketch.hpp"

namespace quern {

using namespace near_duplicates_detail;

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

std::vector<std::uint32_t> stream_index::candidates(const text_sketch& text, std::uint32_t before) const {
    constexpr std::size_t at_once = 256;
    const std::uint64_t length = text.length;
    const length_window near_lengths = lengths_near(threshold_, length);
    std::vector<std::uint32_t> found;
    std::array<std::uint32_t, at_once> norms{};
    for (std::size_t at = shelf_of(near_lengths.shortest);
         at < shelves_.size() && at <= shelf_of(near_lengths.longest); ++at) {
        const shelf& s = shelves_[at];
        for (std::size_t begin = 0; begin < s.documents.size(); begin += at_once) {
            const std::size_t count = std::min(at_once, s.documents.size() - begin);
            unit_norms(text.counts.data(), s.sketches.data() + begin * unit_buckets, count, norms.data());
            for (std::size_t i = 0; i < count; ++i) {
                const std::uint64_t other = s.lengths[begin + i];
                const std::uint64_t apart = other < length ? length - other : other - length;
                const std::uint32_t d = largest_distance(threshold_, length + other);
                if (apart > d || norms[i] > largest_norm(1, d, apart)) continue;
                if (s.documents[begin + i] < before) found.push_back(s.documents[begin + i]);
            }
        }
    }
    std::ranges::sort(found);
    return found;
}

std::uint64_t stream_index::memory_bytes() const {
    std::uint64_t bytes = shelves_.capacity() * sizeof(shelf);
    for (const shelf& s : shelves_) {
        bytes += 4 * (s.lengths.capacity() + s.documents.capacity()) + s.sketches.capacity();
    }
    return bytes;
}

}  // namespace quern
