// SPDX-License-Identifier: Apache-2.0
// A bit for each object and list: whether the object was seen there. A plane of ten million objects is 1.25 MB and stays in a
// core's cache, where a table of values would not; so marking costs about a nanosecond an entry, and values are fetched in a
// second pass for the few objects that matter.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "device/array.hpp"

namespace quern::top_k_detail {

using bitmap = std::span<std::uint64_t>;

class object_planes {
  public:
    object_planes(cpu_place& place, std::size_t lists, std::uint32_t objects);

    std::size_t words() const { return words_; }
    /// False where one of them was marked before. Threads may mark different lists at once.
    bool mark(std::size_t list, std::span<const std::uint32_t> ids);
    /// Objects that are in some list and lack at most `lacking` of those in `open`; how many.
    std::uint64_t lacking_at_most(std::size_t lacking, const std::vector<std::size_t>& open, bitmap objects);
    /// How many objects are in both lists.
    std::uint64_t in_both(std::size_t a, std::size_t b) const;

  private:
    static constexpr std::size_t block = 256;  ///< words worked on at a time

    std::uint64_t lacking_in_block(std::size_t lacking, const std::vector<std::size_t>& open,
                                   std::size_t begin, std::size_t end, std::uint64_t* lacks,
                                   bitmap objects) const;
    std::span<std::uint64_t> plane(std::size_t list) const {
        return {planes_.data() + list * words_, words_};
    }

    cpu_place& place_;
    std::size_t lists_, words_;
    cpu_array<std::uint64_t> planes_;
};

}  // namespace quern::top_k_detail
