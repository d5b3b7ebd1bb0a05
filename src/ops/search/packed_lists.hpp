// SPDX-License-Identifier: Apache-2.0
// Posting lists in the form that a GPU reads: blocks of 128 postings as the store packs them, with one entry per block. The
// postings after a list's last full block are packed in the same way, so that every block is read alike and independently.
// The code for one posting is here, shared by kernels and the CPU code that tests them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ops/search/bit_packing.hpp"
#include "quern/base/context.hpp"
#include "quern/ops/search.hpp"

namespace quern::search_detail {

/// 16 bytes of packed numbers: the four lanes of a row of bits.
struct alignas(16) packed_unit {
    std::uint32_t lanes[4];
};

/// The position of a block's numbers, and the documents that it may have.
struct alignas(16) packed_block {
    std::uint32_t lowest;  ///< no document of the block is lower
    std::uint32_t last;    ///< its last document
    std::uint32_t at;      ///< of its gaps: units from the end of the list's entries; then frequencies less 1
    std::uint8_t gap_width, frequency_width;  ///< bits per number, 0 to 32
    std::uint8_t size;                        ///< postings, 1 to 128; numbers past them are 0
    std::uint8_t unused;
};
static_assert(sizeof(packed_block) == 16 && sizeof(packed_unit) == 16);

inline constexpr unsigned rows_of_block = block_size / 4;

/// Row r of a block holds its numbers 4 r to 4 r + 3. `units`: of the block's gaps, or of its frequencies.
constexpr packed_unit packed_row(const packed_unit* units, unsigned width, unsigned row) {
    packed_unit numbers{};
    if (width == 0) return numbers;
    const unsigned bit = row * width, shift = bit % 32;
    const packed_unit low = units[bit / 32];
    const packed_unit high = shift + width > 32 ? units[bit / 32 + 1] : packed_unit{};
    const std::uint64_t mask = (std::uint64_t{1} << width) - 1;
    for (unsigned i = 0; i < 4; ++i) {
        const std::uint64_t both = std::uint64_t{high.lanes[i]} << 32 | low.lanes[i];
        numbers.lanes[i] = static_cast<std::uint32_t>(both >> shift & mask);
    }
    return numbers;
}

/// Concatenated lists: each has the entries of its blocks, then its numbers.
struct packed_lists {
    struct place {
        std::uint64_t at = 0;                                             ///< of the first entry, in `units`
        std::uint32_t blocks = 0;                                         ///< 0: no postings in the range
        std::uint32_t max_frequency = 0, min_length = ~std::uint32_t{0};  ///< bounds over all of them
    };
    std::vector<packed_unit> units;
    std::vector<place> lists;  ///< in the given order
};

/// For every list, the blocks that may have documents in [first, last). Throws damaged_store for impossible entries; does
/// not check the numbers of full blocks. Cost: a pass over the bytes, by the threads of the context.
packed_lists pack_lists(std::span<const posting_list> lists, std::span<const std::uint32_t> document_lengths,
                        std::uint64_t first, std::uint64_t last, const context& ctx);

/// An upper bound of the units that pack_lists makes of a list; for all documents at most its bytes plus 66. Throws as
/// pack_lists does. Cost: O(1) for all documents, otherwise a pass over the entries of the blocks in the range.
std::uint64_t max_units(const posting_list& list, std::span<const std::uint32_t> document_lengths,
                        std::uint64_t first, std::uint64_t last);

}  // namespace quern::search_detail
