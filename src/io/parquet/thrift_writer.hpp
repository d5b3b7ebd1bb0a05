// SPDX-License-Identifier: Apache-2.0
// Thrift's compact protocol, written value by value: what thrift_reader reads. Fields of a structure are written in rising
// order of their ids.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "io/parquet/thrift.hpp"

namespace quern::io::parquet {

/// Appends seven bits a byte, the lowest first.
inline void append_varint(std::string& out, std::uint64_t value) {
    for (; value >= 128; value >>= 7) out += static_cast<char>(value | 128);
    out += static_cast<char>(value);
}

class thrift_writer {
  public:
    explicit thrift_writer(std::string& out) : out_(out) {}

    /// The fields of a structure are those between begin_struct() and end_struct(). One without an id is the outermost, or
    /// an element of a list.
    void begin_struct() { last_.push_back(0); }
    void begin_struct(std::int16_t id) {
        field(id, thrift_type::structure);
        begin_struct();
    }
    void end_struct() {
        out_ += '\0';
        last_.pop_back();
    }
    void integer(std::int16_t id, std::int32_t value) {
        field(id, thrift_type::i32);
        zigzag(value);
    }
    void long_integer(std::int16_t id, std::uint64_t value) {
        field(id, thrift_type::i64);
        zigzag(static_cast<std::int64_t>(value));
    }
    void text(std::int16_t id, std::string_view value) {
        field(id, thrift_type::binary);
        element(value);
    }
    /// `count` elements follow.
    void begin_list(std::int16_t id, thrift_type of, std::size_t count) {
        field(id, thrift_type::list);
        const auto type = static_cast<unsigned>(of);
        constexpr std::size_t short_count = 15;
        out_ += static_cast<char>(std::min(count, short_count) << 4U | type);
        if (count >= short_count) append_varint(out_, count);
    }
    void element(std::int32_t value) { zigzag(value); }
    void element(std::string_view value) {
        append_varint(out_, value.size());
        out_ += value;
    }
    /// A list as it lies in another structure.
    void copied_list(std::int16_t id, std::string_view bytes) {
        field(id, thrift_type::list);
        out_ += bytes;
    }

  private:
    void field(std::int16_t id, thrift_type type) {
        out_ += static_cast<char>((id - last_.back()) << 4U |
                                  static_cast<int>(type));  // ids differ by less than 16
        last_.back() = id;
    }
    void zigzag(std::int64_t value) {
        append_varint(out_,
                      static_cast<std::uint64_t>(value) << 1U ^ static_cast<std::uint64_t>(value >> 63));
    }

    std::string& out_;
    std::vector<std::int16_t> last_;  ///< id of the last field of each open structure
};

}  // namespace quern::io::parquet
