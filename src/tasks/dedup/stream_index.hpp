// SPDX-License-Identifier: Apache-2.0
// Texts that arrive one by one, by length and sketch: which of those before could be within the threshold of a new
// one. The bounds are those of the operation (ops/near_duplicates/sketch.hpp), so that none is lost.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "ops/near_duplicates/sketch.hpp"
#include "quern/ops/near_duplicates.hpp"

namespace quern {

/// 72 bytes a text. Not thread-safe.
class stream_index {
  public:
    stream_index(const decimal& threshold, edit_unit unit) : threshold_(threshold), unit_(unit) {}

    /// What is kept of a text.
    struct entry {
        std::uint32_t length = 0;  ///< in units
        std::array<std::uint8_t, near_duplicates_detail::unit_buckets> sketch{};
    };
    /// Throws usage_error for a text of 2^31 units or more. Any thread. Cost: O(text).
    entry describe(std::string_view text) const;
    void add(std::uint32_t document, const entry& text);
    /// The documents below `before` whose distance from the text is not known to be too large, rising.
    std::vector<std::uint32_t> candidates(const entry& text, std::uint32_t before) const;

    std::uint64_t memory_bytes() const;

  private:
    /// Texts of about one length, sixteen steps to the doubling: consecutive, as the filter reads them.
    struct shelf {
        std::vector<std::uint32_t> lengths, documents;
        std::vector<std::uint8_t> sketches;
    };
    static std::size_t shelf_of(std::uint64_t length);

    decimal threshold_;
    edit_unit unit_;
    std::vector<shelf> shelves_;
};

}  // namespace quern
