// SPDX-License-Identifier: Apache-2.0
// Look-ups of many words in a packed list. The words must be inside the text: callers have checked that.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "primitives/dictionary/packed_dictionary.hpp"

namespace quern::primitives::packed_find {

inline constexpr std::size_t at_once = 32;     ///< words that wait for memory together
inline constexpr std::uint32_t longest = 240;  ///< letters; longer words are searched without keys
inline constexpr std::uint32_t undetermined = ~std::uint32_t{0};

/// ids[i] = the rank of the word text[begins[i], ends[i]), or list.size() if the list lacks it.
void some(const packed_dictionary& list, const std::uint8_t* text, std::span<const std::uint32_t> begins,
          std::span<const std::uint32_t> ends, std::span<std::uint32_t> ids);

}  // namespace quern::primitives::packed_find
