// SPDX-License-Identifier: Apache-2.0
// The two packings of integers in Parquet pages: runs and groups of equal width (levels, keys of dictionaries), and blocks of
// differences. Decoders are values: a copy goes on from the same place. They read bytes that outlive them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

#include "io/parquet/byte_cursor.hpp"

namespace quern::io::parquet {

/// Numbers of `width` bits one after the other, the lowest bit first.
class bit_string {
  public:
    bit_string() = default;
    bit_string(std::string_view bytes, unsigned width)
        : bytes_(bytes),
          width_(width),
          mask_(width >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << width) - 1) {}

    /// The bytes of `count` numbers.
    static std::uint64_t bytes_of(std::uint64_t count, unsigned width) { return (count * width + 7) / 8; }

    /// Throws fault beyond the end. `count` * 64 must not overflow.
    void require(std::uint64_t first, std::uint64_t count) const {
        if (bytes_of(first + count, width_) > bytes_.size()) throw fault("packed numbers end early");
    }
    /// Of a number for which require() returned.
    std::uint64_t at(std::uint64_t number) const {
        const std::uint64_t bit = number * width_;
        const std::size_t byte = bit >> 3;
        const unsigned shift = bit & 7;
        std::uint64_t value = load(byte) >> shift;
        if (shift != 0 && shift + width_ > 64) value |= load(byte + 8) << (64 - shift);
        return value & mask_;
    }

  private:
    std::uint64_t load(std::size_t byte) const {
        std::uint64_t word = 0;
        if (byte + 8 <= bytes_.size()) {
            std::memcpy(&word, bytes_.data() + byte, 8);
        } else if (byte < bytes_.size()) {
            std::memcpy(&word, bytes_.data() + byte, bytes_.size() - byte);
        }
        return word;
    }

    std::string_view bytes_;
    unsigned width_ = 0;
    std::uint64_t mask_ = 0;
};

/// The hybrid of runs of one value and bit-packed groups of eight (RLE): numbers of at most 32 bits.
class hybrid_decoder {
  public:
    hybrid_decoder() = default;
    /// Throws fault for a width beyond 32.
    hybrid_decoder(std::string_view bytes, unsigned width);

    /// Fills `out`; throws fault if the bytes hold fewer numbers.
    template <class Number>
    void read(std::span<Number> out) {
        while (!out.empty()) {
            const std::size_t count = next_part(out.size());
            if (packed_) {
                for (std::size_t i = 0; i < count; ++i) out[i] = static_cast<Number>(group_.at(taken_ + i));
            } else {
                std::fill_n(out.begin(), count, static_cast<Number>(repeated_));
            }
            advance(count);
            out = out.subspan(count);
        }
    }
    /// Passes over `count` numbers; returns how many of them equal `wanted`.
    std::uint64_t skip(std::uint64_t count, std::uint32_t wanted = 0);

  private:
    /// Begins the next run if this one has ended; returns how many of `max` numbers are in it.
    std::size_t next_part(std::uint64_t max);
    void advance(std::uint64_t count) {
        taken_ += count;
        left_ -= count;
    }

    byte_cursor in_;
    unsigned width_ = 0;
    bool packed_ = false;
    std::uint32_t repeated_ = 0;
    bit_string group_;
    std::uint64_t left_ = 0, taken_ = 0;  ///< of the run
};

/// Blocks of differences (DELTA_BINARY_PACKED).
class delta_decoder {
  public:
    delta_decoder() = default;
    /// Throws fault if the head is not as required.
    explicit delta_decoder(std::string_view bytes);

    /// How many numbers there are.
    std::uint64_t count() const { return total_; }
    /// Throws fault at the end.
    std::int64_t next() {
        if (given_ == total_) throw fault("a page has fewer numbers than values");
        if (given_++ != 0) value_ += next_difference();
        return static_cast<std::int64_t>(value_);
    }
    /// What follows the packed numbers. Cost: a step for each block.
    static std::string_view bytes_after(std::string_view bytes);

  private:
    std::uint64_t next_difference() {
        if (left_in_part_ == 0) begin_part();
        --left_in_part_;
        return least_ + part_.at(part_numbers_ - 1 - left_in_part_);
    }
    void begin_block();
    void begin_part();

    byte_cursor in_;
    std::uint64_t parts_a_block_ = 0, part_numbers_ = 0, total_ = 0;
    std::uint64_t given_ = 0, left_in_part_ = 0;
    std::uint64_t value_ = 0, least_ = 0;
    std::string_view widths_;  ///< of the parts of this block that are still to come
    bit_string part_;
};

}  // namespace quern::io::parquet
