// SPDX-License-Identifier: Apache-2.0
// Texts that arrive one by one, by length and sketch: finds earlier ones that may be within the threshold of a new one.
// The bounds are those of the operation (ops/near_duplicates/filter/sketch.hpp), so that none is missed.
#pragma once

#include <cstdint>
#include <vector>

#include "quern/ops/text_sketches.hpp"

namespace quern {

/// 72 bytes a text. Not thread-safe.
class stream_index {
  public:
    explicit stream_index(const decimal& threshold) : threshold_(threshold) {}

    void add(std::uint32_t document, const text_sketch& text);
    /// The documents below `before` whose distance from the text may be within the threshold, rising.
    std::vector<std::uint32_t> candidates(const text_sketch& text, std::uint32_t before) const;

    std::uint64_t memory_bytes() const;

  private:
    /// Texts of similar length, sixteen classes per doubling: contiguous, as the filter reads them.
    struct shelf {
        std::vector<std::uint32_t> lengths, documents;
        std::vector<std::uint8_t> sketches;
    };
    static std::size_t shelf_of(std::uint64_t length);

    decimal threshold_;
    std::vector<shelf> shelves_;
};

}  // namespace quern
