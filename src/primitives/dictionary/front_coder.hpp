// SPDX-License-Identifier: Apache-2.0
// Writes the form that devices use for look-ups: front_coding.hpp, with a key and an offset for each block.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace quern::primitives {

/// The arrays of a word_list: offsets of 32 bits if these suffice, otherwise wide ones; the others are empty.
struct front_coded {
    std::vector<std::uint64_t> keys, wide_offsets;
    std::vector<std::uint32_t> offsets;
    std::vector<std::uint8_t> blocks;
};

class front_coder {
  public:
    void append(std::string_view word);  ///< strictly ascending
    front_coded finish();                ///< the coder must not be used afterwards

  private:
    front_coded made_;
    std::string previous_;
    std::uint64_t size_ = 0;
};

}  // namespace quern::primitives
