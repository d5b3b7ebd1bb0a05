// SPDX-License-Identifier: Apache-2.0
// Texts as lists of units.
#pragma once

#include <cstdint>
#include <vector>

#include "ops/near_duplicates/methods.hpp"

namespace quern::near_duplicates_detail {

/// The same bytes.
unit_list<std::uint8_t> as_bytes(const text_list& texts);

/// Code points, decoded; a byte that belongs to none is 0x110000 and its value, so that different bytes stay different.
struct decoded_texts {
    std::vector<std::uint32_t> units;
    std::vector<std::uint64_t> offsets;
    unit_list<std::uint32_t> list() const { return {units, offsets}; }
};
decoded_texts decode(cpu_place& place, const text_list& texts);

}  // namespace quern::near_duplicates_detail
