// SPDX-License-Identifier: Apache-2.0
// Posting lists in the form a GPU reads: blocks of 128 postings as the store packs them, with one entry a block, and the
// postings behind a list's last full block packed likewise, so that every block is read in one way and by itself. What
// is done for one posting stands here, for kernels and for the CPU that tests them.
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

/// Where a block's numbers lie, and which documents it may hold.
struct alignas(16) packed_block {
    std::uint32_t lowest;  ///< no document of the block lies below
    std::uint32_t last;    ///< its last document
    std::uint32_t at;      ///< of its gaps: units from the end of the list's entries; then frequencies less 1
    std::uint8_t gap_width, frequency_width;  ///< bits of a number, 0 to 32
    std::uint8_t size;                        ///< postings, 1 to 128; numbers beyond them are 0
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

/// Lists one behind the other: the entries of a list's blocks, then its numbers.
struct packed_lists {
    struct place {
        std::uint64_t at = 0;                                             ///< of the first entry, in `units`
        std::uint32_t blocks = 0;                                         ///< 0: no postings in the range
        std::uint32_t max_frequency = 0, min_length = ~std::uint32_t{0};  ///< bounds over all of them
    };
    std::vector<packed_unit> units;
    std::vector<place> lists;  ///< as they were given
};

/// Of every list the blocks that may hold documents of [first, last). Throws damaged_store for entries that cannot be;
/// what the numbers of full blocks say is not looked at. Cost: a pass over the bytes, by the threads of the run.
packed_lists pack_lists(std::span<const posting_list> lists, std::span<const std::uint32_t> document_lengths,
                        std::uint64_t first, std::uint64_t last, const context& run);

/// At least the units that pack_lists makes of a list, and of all documents no more than its bytes and 66 more. Throws as
/// pack_lists does. Cost: O(1) for all documents, else a pass over the entries of the blocks in the range.
std::uint64_t most_units(const posting_list& list, std::span<const std::uint32_t> document_lengths,
                         std::uint64_t first, std::uint64_t last);

}  // namespace quern::search_detail
