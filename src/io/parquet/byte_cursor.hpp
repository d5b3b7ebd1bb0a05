// SPDX-License-Identifier: Apache-2.0
// Reads numbers out of bytes that may be damaged: every step checks the bounds.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <type_traits>

#include "quern/base/error.hpp"

namespace quern::io::parquet {

/// A part of a file is not as the format requires. Internal: parquet_file and column_reader turn it into an invalid_input
/// that names the file.
class fault : public error {
  public:
    using error::error;
};

static_assert(std::endian::native == std::endian::little, "numbers are read as they lie in the file");

class byte_cursor {
  public:
    byte_cursor() = default;
    explicit byte_cursor(std::string_view bytes) : at_(bytes.data()), end_(bytes.data() + bytes.size()) {}

    std::size_t left() const { return static_cast<std::size_t>(end_ - at_); }
    std::string_view rest() const { return {at_, left()}; }

    std::string_view take(std::uint64_t count) {
        if (count > left()) throw fault("a value ends after the end of its part");
        const std::string_view taken(at_, count);
        at_ += count;
        return taken;
    }
    std::uint8_t byte() {
        if (at_ == end_) throw fault("ends early");
        return static_cast<std::uint8_t>(*at_++);
    }
    template <class Number>
        requires std::is_arithmetic_v<Number>
    Number number() {
        Number value;
        std::memcpy(&value, take(sizeof value).data(), sizeof value);
        return value;
    }
    /// Seven bits a byte, the lowest first (ULEB128); at most 64 bits.
    std::uint64_t varint() {
        std::uint64_t value = 0;
        for (unsigned shift = 0; shift < 64; shift += 7) {
            const std::uint8_t next = byte();
            value |= static_cast<std::uint64_t>(next & 127) << shift;
            if (next < 128) return value;
        }
        throw fault("a number of more than 64 bits");
    }
    std::int64_t zigzag() {
        const std::uint64_t value = varint();
        return static_cast<std::int64_t>(value >> 1 ^ (0 - (value & 1)));
    }

  private:
    const char* at_ = nullptr;
    const char* end_ = nullptr;
};

}  // namespace quern::io::parquet
