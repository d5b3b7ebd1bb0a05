// SPDX-License-Identifier: Apache-2.0
#include "io/parquet/thrift.hpp"

namespace quern::io::parquet {

thrift_reader::list_head thrift_reader::read_list_head() {
    const std::uint8_t head = in_.byte();
    std::uint64_t count = head >> 4;
    if (count == 15) count = in_.varint();
    if (count > in_.left()) throw fault("a list longer than its bytes");  // an element has one byte at least
    return {static_cast<thrift_type>(head & 15), count};
}

void thrift_reader::skip_element(thrift_type type) {
    // The type of a field says which boolean it is; elements have a byte each.
    if (type == thrift_type::yes || type == thrift_type::no) {
        in_.byte();
    } else {
        skip(type);
    }
}

void thrift_reader::skip(thrift_type type) {
    switch (type) {
        case thrift_type::yes:
        case thrift_type::no:
            return;
        case thrift_type::i8:
            in_.byte();
            return;
        case thrift_type::i16:
        case thrift_type::i32:
        case thrift_type::i64:
            in_.varint();
            return;
        case thrift_type::float64:
            in_.take(8);
            return;
        case thrift_type::binary:
            in_.take(in_.varint());
            return;
        case thrift_type::list:
        case thrift_type::set: {
            const nesting level(*this);
            const list_head head = read_list_head();
            for (std::uint64_t i = 0; i < head.count; ++i) skip_element(head.element);
            return;
        }
        case thrift_type::map: {
            const nesting level(*this);
            const std::uint64_t count = in_.varint();
            if (count == 0) return;
            const std::uint8_t types = in_.byte();
            for (std::uint64_t i = 0; i < count; ++i) {
                skip_element(static_cast<thrift_type>(types >> 4));
                skip_element(static_cast<thrift_type>(types & 15));
            }
            return;
        }
        case thrift_type::structure:
            read_struct([](std::int64_t, thrift_type) { return false; });
            return;
        case thrift_type::stop:
            break;
    }
    throw fault("an unknown type");
}

}  // namespace quern::io::parquet
