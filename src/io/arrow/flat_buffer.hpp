// SPDX-License-Identifier: Apache-2.0
// Tables of FlatBuffers (flatbuffers.dev/internals), out of bytes that may be damaged: every step checks the bounds. A
// table is a position in the bytes: nothing is copied, and fields are read on request.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>
#include <type_traits>

#include "io/parquet/byte_cursor.hpp"

namespace quern::io::arrow {

using parquet::fault;

/// Throws fault beyond the end of `bytes`.
template <class Number>
    requires std::is_arithmetic_v<Number>
Number number_at(std::string_view bytes, std::uint64_t at) {
    if (at > bytes.size() || bytes.size() - at < sizeof(Number))
        throw fault("its metadata refer to a position after their end");
    Number value;
    std::memcpy(&value, bytes.data() + at, sizeof value);
    return value;
}

/// Elements of a vector, as bytes.
struct flat_vector {
    std::string_view bytes;
    std::uint64_t count = 0;

    template <class Number>
    Number at(std::uint64_t number) const {
        return number_at<Number>(bytes, number * sizeof(Number));
    }
};

class flat_table {
  public:
    /// Without any field.
    flat_table() = default;
    /// The table that the bytes hold. All methods throw fault where they are damaged.
    static flat_table root(std::string_view bytes) { return {bytes, number_at<std::uint32_t>(bytes, 0)}; }

    bool has(unsigned field) const { return place_of(field) != 0; }
    template <class Number>
    Number number(unsigned field, Number otherwise) const {
        const std::uint64_t at = place_of(field);
        return at == 0 ? otherwise : number_at<Number>(bytes_, at);
    }
    /// A missing one has no fields.
    flat_table table(unsigned field) const {
        const std::uint64_t at = place_of(field);
        return at == 0 ? flat_table() : flat_table(bytes_, target(at));
    }
    std::string_view text(unsigned field) const { return vector(field, 1).bytes; }
    /// Of numbers or structs of `element_bytes`; a missing one is empty.
    flat_vector vector(unsigned field, std::uint64_t element_bytes) const {
        const std::uint64_t at = place_of(field);
        if (at == 0) return {};
        const std::uint64_t begin = target(at), count = number_at<std::uint32_t>(bytes_, begin);
        const std::string_view rest = bytes_.substr(begin + sizeof(std::uint32_t));
        if (count * element_bytes > rest.size()) throw fault("a list of its metadata ends after their end");
        return {rest.substr(0, count * element_bytes), count};
    }
    std::uint64_t tables(unsigned field) const { return vector(field, sizeof(std::uint32_t)).count; }
    /// Of a vector of tables; `number` < tables(field).
    flat_table table_of(unsigned field, std::uint64_t number) const {
        const std::uint64_t at =
            target(place_of(field)) + sizeof(std::uint32_t) + number * sizeof(std::uint32_t);
        return {bytes_, target(at)};
    }

  private:
    flat_table(std::string_view bytes, std::uint64_t at) : bytes_(bytes), at_(at) {
        const std::int64_t fields = static_cast<std::int64_t>(at) - number_at<std::int32_t>(bytes, at);
        if (fields < 0) throw fault("its metadata refer to a position before their beginning");
        fields_ = static_cast<std::uint64_t>(fields);
        fields_bytes_ = number_at<std::uint16_t>(bytes, fields_);
    }

    std::uint64_t target(std::uint64_t at) const { return at + number_at<std::uint32_t>(bytes_, at); }
    /// Where the value of a field lies; 0 if it is missing.
    std::uint64_t place_of(unsigned field) const {
        const std::uint64_t entry = 4 + 2 * std::uint64_t{field};
        if (entry + 2 > fields_bytes_) return 0;
        const auto offset = number_at<std::uint16_t>(bytes_, fields_ + entry);
        return offset == 0 ? 0 : at_ + offset;
    }

    std::string_view bytes_;
    std::uint64_t at_ = 0, fields_ = 0, fields_bytes_ = 0;
};

}  // namespace quern::io::arrow
