// SPDX-License-Identifier: Apache-2.0
// Which bytes of a chunk of text are letters, digits, …, as bit masks; and the chunk in lower case.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace quern::text {

/// Bit i of each mask describes byte i of 64.
struct byte_masks {
    std::uint64_t letters;  ///< A-Z a-z
    std::uint64_t digits;   ///< 0-9
    std::uint64_t joiners;  ///< break_rules::ascii_class::joiner
    std::uint64_t others;   ///< break_rules::ascii_class::special, and bytes beyond ASCII
};

/// Classifies 64 * `blocks` bytes at `from` and writes them to `lowered` with A-Z in lower case. The vector code is
/// chosen for the processor at run time.
void classify_bytes(const char* from, std::size_t blocks, char* lowered, byte_masks* masks);

/// A chunk of text with its masks. Bytes past the text's end count as zero.
// Its arrays are written before they are read, for each text again.
class byte_chunk {  // NOLINT(cppcoreguidelines-pro-type-member-init)
  public:
    static constexpr std::size_t max_bytes = 4096;
    static constexpr std::size_t max_blocks = max_bytes / 64 + 1;  // one of zeros after a full chunk
    static constexpr std::size_t copy_width = 32;

    /// The chunk of `text` that begins at `begin`.
    void load(std::string_view text, std::size_t begin);
    std::size_t size() const { return size_; }
    std::size_t blocks() const { return blocks_; }
    const byte_masks& masks(std::size_t block) const { return masks_[block]; }
    /// Lower-case bytes from position `at`; copy_width bytes are readable from any position.
    const char* lowered(std::size_t at) const { return lowered_.data() + at; }

  private:
    std::size_t size_ = 0, blocks_ = 0;
    std::array<byte_masks, max_blocks> masks_;
    std::array<char, max_blocks * 64 + copy_width> lowered_;
};

/// A bit for every byte of a chunk, plus one past the end that is always set and ends every search.
class chunk_bits {
  public:
    std::uint64_t& operator[](std::size_t block) { return words_[block]; }
    void end_after(std::size_t blocks) { words_[blocks] = ~std::uint64_t{0}; }
    bool test(std::size_t at) const { return words_[at >> 6] >> (at & 63) & 1; }
    /// The first set bit at or after `at`.
    std::size_t next(std::size_t at) const {
        std::size_t word = at >> 6;
        const std::uint64_t bits = words_[word] >> (at & 63);
        if (bits != 0) return at + static_cast<std::size_t>(std::countr_zero(bits));
        do ++word;
        while (words_[word] == 0);
        return word * 64 + static_cast<std::size_t>(std::countr_zero(words_[word]));
    }

  private:
    std::array<std::uint64_t, byte_chunk::max_blocks + 1> words_;
};

}  // namespace quern::text
