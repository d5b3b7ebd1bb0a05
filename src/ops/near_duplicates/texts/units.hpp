// SPDX-License-Identifier: Apache-2.0
// Texts as lists of units.
#pragma once

#include <cstdint>
#include <vector>

#include "device/array.hpp"
#include "ops/near_duplicates/duplicate_methods.hpp"

namespace quern::near_duplicates_detail {

/// The same bytes.
unit_list<std::uint8_t> as_bytes(const text_list& texts);

/// Decoded code points; an invalid byte is 0x110000 plus its value, so that different bytes stay different.
struct decoded_texts {
    cpu_array<std::uint32_t> units;
    std::vector<std::uint64_t> offsets;
    unit_list<std::uint32_t> list() const { return {units.span(), offsets}; }
};
decoded_texts decode(cpu_place& place, const text_list& texts);
/// Only these texts, in this order.
decoded_texts decode(cpu_place& place, const text_list& texts, std::span<const std::uint32_t> chosen);
/// One text; replaces the contents of `units`.
void decode(std::string_view text, std::vector<std::uint32_t>& units);

}  // namespace quern::near_duplicates_detail
