// SPDX-License-Identifier: Apache-2.0
// The first half of a bzip2 block: its header and its Huffman codes, decoded to the last column of the sorted
// rotations.
#pragma once

#include <cstdint>
#include <span>

#include "io/compression/bzip2_bits.hpp"

namespace quern::io::bzip2 {

struct column_result {
    const char* problem = nullptr;  ///< null: no problem; `bits_ended` if the bits ended
    std::uint32_t checksum = 0;
    std::uint32_t origin = 0;  ///< row of the unrotated block
    std::uint32_t size = 0;
    bool randomised = false;
    std::uint64_t end_bit = 0;
};

extern const char* const bits_ended;

/// Decodes the block at `start_bit` of `packed` (size without padding) into `column` (capacity largest_block) and
/// counts its bytes in `counts[256]`.
column_result decode_column(std::span<const std::uint8_t> packed, std::uint64_t start_bit,
                            std::uint8_t* column, std::uint32_t* counts);

}  // namespace quern::io::bzip2
