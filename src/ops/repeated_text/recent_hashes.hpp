// SPDX-License-Identifier: Apache-2.0
// What one thread saw lately, by hashes: small tables in which a later hash replaces an earlier one at its place.
#pragma once

#include <cstdint>
#include <vector>

#include "ops/repeated_text/window_hash.hpp"

namespace quern::repeated_text_detail {

/// Anchors seen lately, by their hashes: of a text that repeats itself closely, only two anchors of each hash need
/// sorting.
class anchor_cache {
  public:
    static constexpr std::uint64_t none = ~std::uint64_t{0};
    /// From the third time on the position of another one with this hash, else none.
    std::uint64_t exchange(std::uint64_t key, std::uint64_t position) {
        entry& at = entries_[key & (entries_.size() - 1)];
        if (at.key != key) at = {key, position, 0};
        return ++at.times < 3 ? none : at.position;
    }

  private:
    struct entry {
        std::uint64_t key = ~std::uint64_t{0}, position = 0, times = 0;
    };
    std::vector<entry> entries_ = std::vector<entry>(1 << 12);
};

/// Positions of windows seen lately, by their hashes.
class window_cache {
  public:
    static constexpr std::uint64_t none = ~std::uint64_t{0};
    /// The position of an earlier window with this hash, or none; remembers this one.
    std::uint64_t exchange(std::uint64_t key, std::uint64_t position) {
        entry& at = entries_[key * mix_factor >> (64 - bits)];
        const std::uint64_t before = at.key == key && at.position < position ? at.position : none;
        at = {key, position};
        return before;
    }

  private:
    static constexpr unsigned bits = 15;
    struct entry {
        std::uint64_t key = 0, position = none;
    };
    std::vector<entry> entries_ = std::vector<entry>(std::size_t{1} << bits);
};

}  // namespace quern::repeated_text_detail
