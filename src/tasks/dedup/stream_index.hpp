// SPDX-License-Identifier: Apache-2.0
// Texts that arrive one by one, by length and sketch: finds earlier ones that may make a pair with a new one. The bounds
// are those of the operation, so that none is missed.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "ops/near_duplicates/filter/pair_bounds.hpp"
#include "ops/near_duplicates/filter/sketch.hpp"
#include "quern/base/decimal.hpp"
#include "quern/ops/text_sketches.hpp"

namespace quern {

/// Of the edit rate (ops/near_duplicates/filter/sketch.hpp).
struct rate_bounds {
    decimal threshold;

    near_duplicates_detail::length_window sizes_near(std::uint64_t length) const {
        return near_duplicates_detail::lengths_near(threshold, length);
    }
    bool may_pair(std::uint64_t length, std::uint64_t other, std::uint32_t norm) const {
        const std::uint64_t apart = other < length ? length - other : other - length;
        const std::uint32_t d = near_duplicates_detail::largest_distance(threshold, length + other);
        return apart <= d && norm <= near_duplicates_detail::largest_norm(1, d, apart);
    }
};

/// 72 bytes a text. Not thread-safe.
class stream_index {
  public:
    void add(std::uint32_t document, const text_sketch& text);
    /// The documents below `before` that may make a pair with the text, rising.
    template <class Bounds>
    std::vector<std::uint32_t> candidates(const Bounds& bounds, const text_sketch& text,
                                          std::uint32_t before) const;

    std::uint64_t memory_bytes() const;

  private:
    /// Texts of similar length, sixteen classes per doubling: contiguous, as the filter reads them.
    struct shelf {
        std::vector<std::uint32_t> lengths, documents;
        std::vector<std::uint8_t> sketches;
    };
    static std::size_t shelf_of(std::uint64_t length);

    std::vector<shelf> shelves_;
};

template <class Bounds>
std::vector<std::uint32_t> stream_index::candidates(const Bounds& bounds, const text_sketch& text,
                                                    std::uint32_t before) const {
    constexpr std::size_t at_once = 256;
    const near_duplicates_detail::length_window near_lengths = bounds.sizes_near(text.length);
    std::vector<std::uint32_t> found;
    std::array<std::uint32_t, at_once> norms{};
    for (std::size_t at = shelf_of(near_lengths.shortest);
         at < shelves_.size() && at <= shelf_of(near_lengths.longest); ++at) {
        const shelf& s = shelves_[at];
        for (std::size_t begin = 0; begin < s.documents.size(); begin += at_once) {
            const std::size_t count = std::min(at_once, s.documents.size() - begin);
            near_duplicates_detail::unit_norms(
                text.counts.data(), s.sketches.data() + begin * near_duplicates_detail::unit_buckets, count,
                norms.data());
            for (std::size_t i = 0; i < count; ++i) {
                if (s.documents[begin + i] < before &&
                    bounds.may_pair(text.length, s.lengths[begin + i], norms[i]))
                    found.push_back(s.documents[begin + i]);
            }
        }
    }
    std::ranges::sort(found);
    return found;
}

}  // namespace quern
