// SPDX-License-Identifier: Apache-2.0
// Bits from the most significant end, for the bzip2 decoder.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

namespace quern::io::bzip2 {

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

}  // namespace quern::io::bzip2
