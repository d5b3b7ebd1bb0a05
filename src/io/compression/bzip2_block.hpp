// SPDX-License-Identifier: Apache-2.0
// One bzip2 block, from any bit position: Huffman codes, move-to-front, inverse Burrows-Wheeler transform, run lengths,
// checksum. libbz2 decodes only whole streams, in order and with one thread; blocks are independent, so that several
// can be decoded in parallel.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

namespace quern::io::bzip2 {

inline constexpr std::uint64_t block_magic = 0x314159265359U;
inline constexpr std::uint64_t end_magic = 0x177245385090U;
inline constexpr unsigned magic_bits = 48;
inline constexpr std::uint32_t largest_block = 900'000;
/// No valid block is longer: magic, header, selectors in unary, code lengths, 18,002 groups of 50 codes.
inline constexpr std::size_t largest_packed_block = 2'400'000;
/// The bits given to a block_decoder must be followed by this many zero bytes, so that it may read ahead unchecked.
inline constexpr std::size_t padding = 512;

enum class block_state { whole, cut_off, damaged };

/// The block before the last stage, the expansion of runs, which may make it 51 times longer.
struct block {
    block_state state = block_state::damaged;
    const char* problem = "";         ///< the kind of damage
    std::uint64_t end_bit = 0;        ///< just past the block, counted like start_bit
    std::uint32_t checksum = 0;       ///< as stored; must equal that of the expanded bytes
    std::vector<std::uint8_t> bytes;  ///< runs of four equal bytes are followed by a count of further ones
};

/// Workspace for one block at a time, about 8 MB, reused by one thread.
class block_decoder {
  public:
    block_decoder();
    /// `packed` holds the block, followed by `padding` zero bytes that do not count; its magic begins at bit
    /// `start_bit` (the most significant bit of the first byte is 0). Throws only for lack of memory. cut_off: the bits
    /// end before the block does. Reuses `result.bytes` if large enough.
    void decode(std::span<const std::uint8_t> packed, std::uint64_t start_bit, block& result);

  private:
    struct free_pages {
        std::size_t bytes;
        void operator()(std::uint32_t* pages) const noexcept;
    };

    std::unique_ptr<std::uint32_t[], free_pages> links_;  ///< see chain_walker
    std::vector<std::uint8_t> column_;                    ///< last column of the sorted rotations
    std::vector<std::uint8_t> arena_;
};

/// Decodes a randomised block (written only by bzip2 0.9.0 and older) from `start_bit` to `result.end_bit` with libbz2,
/// as a stream of that block alone.
void decode_randomised(std::span<const std::uint8_t> packed, std::uint64_t start_bit, block& result);

/// Expands a block's runs piece by piece.
class run_expander {
  public:
    run_expander() = default;
    explicit run_expander(std::span<const std::uint8_t> bytes) : next_(bytes.data()), left_(bytes.size()) {}
    /// Fills `out`, or as much of it as the block has left; returns the number of bytes.
    std::size_t expand(std::span<char> out);

  private:
    const std::uint8_t* next_ = nullptr;
    std::size_t left_ = 0;
    std::uint32_t pending_ = 0;  ///< how many times `byte_` must still be written
    std::uint8_t byte_ = 0;
};

/// bzip2's CRC-32 (most significant bit first), continued from `checksum` (start with ~0, invert at the end).
std::uint32_t update_checksum(std::uint32_t checksum, std::span<const char> bytes);

/// The bit position of the first block magic that begins at bit `from` or later and ends within `bytes`, or UINT64_MAX.
/// By chance one in 2^48 positions is a false magic.
std::uint64_t find_block(std::span<const std::uint8_t> bytes, std::uint64_t from);

// The first half of a bzip2 block: its header and its Huffman codes, decoded to the last column of the sorted
// rotations.

// Bits from the most significant end, for the bzip2 decoder.

inline std::uint64_t load_big_endian(const std::uint8_t* bytes) {
    std::uint64_t word;
    std::memcpy(&word, bytes, sizeof word);
    if constexpr (std::endian::native == std::endian::little) word = __builtin_bswap64(word);
    return word;
}

/// Reads up to 16 bytes ahead: the bytes must be padded. Small enough to live in registers.
class bit_reader {
  public:
    bit_reader(const std::uint8_t* bytes, std::uint64_t start_bit) : next_(bytes + start_bit / 8) {
        refill();
        skip(static_cast<unsigned>(start_bit % 8));
    }
    /// Afterwards at least 56 bits are available.
    void refill() {
        window_ |= load_big_endian(next_) >> held_;
        next_ += (63 - held_) >> 3;
        held_ |= 56;
    }
    /// The next `count` bits, 1 to 56 of those available.
    std::uint64_t peek(unsigned count) const { return window_ >> (64 - count); }
    std::uint64_t window() const { return window_; }
    void skip(unsigned count) {
        window_ <<= count;
        held_ -= count;
    }
    std::uint32_t take(unsigned count) {  // up to 32
        refill();
        const auto value = static_cast<std::uint32_t>(peek(count));
        skip(count);
        return value;
    }
    std::uint64_t position(const std::uint8_t* bytes) const {
        return static_cast<std::uint64_t>(next_ - bytes) * 8 - held_;
    }

  private:
    const std::uint8_t* next_;
    std::uint64_t window_ = 0;
    unsigned held_ = 0;
};

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
