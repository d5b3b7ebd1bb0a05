// SPDX-License-Identifier: Apache-2.0
// Thrift's compact protocol (github.com/apache/thrift, doc/specs/thrift-compact-protocol.md), read value by value: no tree
// is made, so that memory is what the reader of a structure keeps. Unknown fields are skipped.
#pragma once

#include <cstdint>
#include <string_view>

#include "io/parquet/byte_cursor.hpp"

namespace quern::io::parquet {

enum class thrift_type : std::uint8_t {
    stop = 0,
    yes = 1,
    no = 2,
    i8 = 3,
    i16 = 4,
    i32 = 5,
    i64 = 6,
    float64 = 7,
    binary = 8,
    list = 9,
    set = 10,
    map = 11,
    structure = 12
};

/// Throws fault for anything malformed, and beyond 64 levels of nesting.
class thrift_reader {
  public:
    explicit thrift_reader(std::string_view bytes) : in_(bytes) {}

    std::string_view rest() const { return in_.rest(); }

    /// Calls take(field id, type) for each field; it reads the value, or returns false to have it skipped.
    template <class Take>
    void read_struct(const Take& take) {
        const nesting level(*this);
        for (std::int64_t id = 0;;) {
            const std::uint8_t head = in_.byte();
            const auto type = static_cast<thrift_type>(head & 15);
            if (type == thrift_type::stop) return;
            id = (head >> 4) != 0 ? id + (head >> 4) : in_.zigzag();
            if (!take(id, type)) skip(type);
        }
    }
    /// The same for a field that is a structure.
    template <class Take>
    bool read_struct(thrift_type type, const Take& take) {
        if (type != thrift_type::structure) throw fault("a structure was expected");
        read_struct(take);
        return true;
    }

    /// Calls begin(count) and then take(type of the elements) for each; `count` is at most the bytes left.
    template <class Begin, class Take>
    bool read_list(thrift_type type, const Begin& begin, const Take& take) {
        if (type != thrift_type::list) throw fault("a list was expected");
        const nesting level(*this);
        const list_head head = read_list_head();
        begin(head.count);
        for (std::uint64_t i = 0; i < head.count; ++i) take(head.element);
        return true;
    }

    std::int64_t integer(thrift_type type) {
        if (type == thrift_type::i8) return static_cast<std::int8_t>(in_.byte());
        if (type != thrift_type::i16 && type != thrift_type::i32 && type != thrift_type::i64)
            throw fault("an integer was expected");
        return in_.zigzag();
    }
    /// Of a field, not of a list.
    static bool boolean(thrift_type type) {
        if (type != thrift_type::yes && type != thrift_type::no) throw fault("a boolean was expected");
        return type == thrift_type::yes;
    }
    std::string_view binary(thrift_type type) {
        if (type != thrift_type::binary) throw fault("a string was expected");
        return in_.take(in_.varint());
    }
    void skip(thrift_type type);

  private:
    struct list_head {
        thrift_type element;
        std::uint64_t count;
    };
    class nesting {
      public:
        explicit nesting(thrift_reader& reader) : reader_(reader) {
            constexpr unsigned max_depth = 64;
            if (++reader_.depth_ > max_depth) throw fault("nested too deeply");
        }
        ~nesting() { --reader_.depth_; }
        nesting(const nesting&) = delete;  // counts itself once
        nesting& operator=(const nesting&) = delete;

      private:
        thrift_reader& reader_;
    };

    list_head read_list_head();
    void skip_element(thrift_type type);

    byte_cursor in_;
    unsigned depth_ = 0;
};

}  // namespace quern::io::parquet
