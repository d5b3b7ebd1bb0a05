// SPDX-License-Identifier: Apache-2.0
// One bit for each object and list: whether the object was seen there. A bitmap of ten million objects is 1.25 MB and stays
// in a core's cache, where a table of values would not. So marking costs about a nanosecond per entry, and a second pass
// fetches values for the few relevant objects.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "device/array.hpp"

namespace quern::rank_aggregation_detail {

using bitmap = std::span<std::uint64_t>;

class object_bitmaps {
  public:
    object_bitmaps(cpu_place& place, std::size_t lists, std::uint32_t objects);

    std::size_t words() const { return words_; }
    /// False if one of them was already marked. Threads may mark different lists in parallel.
    bool set_bit(std::size_t list, std::span<const std::uint32_t> ids);
    /// Finds objects that are in some list and lack at most `missing_lists` of those in `undecided`; returns their number.
    std::uint64_t missing_at_most(std::size_t missing_lists, const std::vector<std::size_t>& undecided,
                                  bitmap objects);
    /// The number of objects that are in both lists.
    std::uint64_t in_both(std::size_t a, std::size_t b) const;

  private:
    static constexpr std::size_t block = 256;  ///< words processed at a time

    std::uint64_t missing_in_block(std::size_t missing_lists, const std::vector<std::size_t>& undecided,
                                   std::size_t begin, std::size_t end, std::uint64_t* missing_bits,
                                   bitmap objects) const;
    std::span<std::uint64_t> bitmap_of(std::size_t list) const {
        return {bitmaps_.data() + list * words_, words_};
    }

    cpu_place& place_;
    std::size_t lists_, words_;
    cpu_array<std::uint64_t> bitmaps_;
};

}  // namespace quern::rank_aggregation_detail
