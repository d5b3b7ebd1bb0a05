// SPDX-License-Identifier: Apache-2.0
// Protobuf's wire format: a field is a key (number times 8 plus the kind of value) and a value; a zero or empty field
// is omitted, as protobuf itself does.
#include "io/retrieval/ciff_writer.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

namespace quern::io {
namespace {

constexpr std::size_t buffer_bytes = std::size_t{1} << 16;
constexpr std::size_t longest_varint = 10;
enum wire_type : unsigned { varint = 0, eight_bytes = 1, delimited = 2 };

constexpr std::uint64_t varint_bytes(std::uint64_t value) {
    return (static_cast<std::uint64_t>(std::bit_width(value | 1)) + 6) / 7;
}

char* write_varint(char* at, std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) *at++ = static_cast<char>(value | 0x80);
    *at++ = static_cast<char>(value);
    return at;
}

// All fields have numbers below 16, so that a key is one byte.
constexpr char key(unsigned field, wire_type type) {
    return static_cast<char>(field << 3 | type);
}
constexpr std::uint64_t number_bytes(std::uint64_t value) {
    return value == 0 ? 0 : 1 + varint_bytes(value);
}
constexpr std::uint64_t string_bytes(std::string_view value) {
    return value.empty() ? 0 : 1 + varint_bytes(value.size()) + value.size();
}
/// The message of a posting without its key and length: 12 bytes at most, so that its length is one byte.
constexpr std::uint64_t posting_bytes(std::uint32_t gap, std::uint32_t frequency) {
    return number_bytes(gap) + number_bytes(frequency);
}

}  // namespace

ciff_writer::ciff_writer(std::function<void(std::string_view)> out)
    : out_(std::move(out)), buffer_(new char[buffer_bytes]), at_(buffer_.get()) {}

void ciff_writer::header(const ciff_header& header) {
    constexpr std::uint64_t version = 1;
    const double mean =
        header.documents == 0 ? 0 : static_cast<double>(header.words) / static_cast<double>(header.documents);
    put_varint(number_bytes(version) + 2 * number_bytes(header.lists) + 2 * number_bytes(header.documents) +
               number_bytes(header.words) + (mean == 0 ? 0 : 1 + sizeof mean) +
               string_bytes(header.description));
    put_number(1, version);
    put_number(2, header.lists);
    put_number(3, header.documents);
    put_number(4, header.lists);      // of the whole collection; a file may hold a part,
    put_number(5, header.documents);  // but this one holds all
    put_number(6, header.words);
    put_double(7, mean);
    put_string(8, header.description);
}

void ciff_writer::list_size::add(std::span<const std::uint32_t> documents,
                                 std::span<const std::uint32_t> frequencies) {
    for (std::size_t i = 0; i < documents.size(); ++i) {
        bytes_ += 2 + posting_bytes(documents[i] - previous_, frequencies[i]);
        occurrences_ += frequencies[i];
        previous_ = documents[i];
    }
}

std::uint64_t ciff_writer::message_bytes(std::string_view word, std::uint64_t documents,
                                         const list_size& size) {
    return string_bytes(word) + number_bytes(documents) + number_bytes(size.occurrences()) + size.bytes();
}

void ciff_writer::begin_list(std::string_view word, std::uint64_t documents, const list_size& size) {
    put_varint(message_bytes(word, documents, size));
    put_string(1, word);
    put_number(2, documents);
    put_number(3, size.occurrences());
    previous_ = 0;
}

void ciff_writer::add(std::span<const std::uint32_t> documents, std::span<const std::uint32_t> frequencies) {
    constexpr std::size_t longest_posting = 14;
    for (std::size_t i = 0; i < documents.size(); ++i) {
        reserve(longest_posting);
        const std::uint32_t gap = documents[i] - previous_;  // of the first posting: the document itself
        char* at = at_;
        *at++ = key(4, delimited);
        *at++ = static_cast<char>(posting_bytes(gap, frequencies[i]));
        if (gap != 0) {
            *at++ = key(1, varint);
            at = write_varint(at, gap);
        }
        *at++ = key(2, varint);
        at_ = write_varint(at, frequencies[i]);
        previous_ = documents[i];
    }
}

void ciff_writer::document(std::uint32_t number, std::string_view id, std::uint32_t length) {
    put_varint(number_bytes(number) + string_bytes(id) + number_bytes(length));
    put_number(1, number);
    put_string(2, id);
    put_number(3, length);
}

void ciff_writer::finish() {
    if (at_ != buffer_.get()) out_({buffer_.get(), static_cast<std::size_t>(at_ - buffer_.get())});
    at_ = buffer_.get();
}

void ciff_writer::reserve(std::size_t bytes) {
    if (static_cast<std::size_t>(buffer_.get() + buffer_bytes - at_) < bytes) finish();
}

void ciff_writer::put_varint(std::uint64_t value) {
    reserve(longest_varint);
    at_ = write_varint(at_, value);
}

void ciff_writer::put_number(unsigned field, std::uint64_t value) {
    if (value == 0) return;
    reserve(1 + longest_varint);
    *at_++ = key(field, varint);
    at_ = write_varint(at_, value);
}

void ciff_writer::put_double(unsigned field, double value) {
    if (value == 0) return;
    static_assert(std::endian::native == std::endian::little, "the wire's bytes are a double's own");
    reserve(1 + sizeof value);
    *at_++ = key(field, eight_bytes);
    std::memcpy(at_, &value, sizeof value);
    at_ += sizeof value;
}

void ciff_writer::put_string(unsigned field, std::string_view value) {
    if (value.empty()) return;
    reserve(1 + longest_varint);
    *at_++ = key(field, delimited);
    at_ = write_varint(at_, value.size());
    while (!value.empty()) {
        reserve(1);
        const auto capacity = static_cast<std::size_t>(buffer_.get() + buffer_bytes - at_);
        const std::size_t part = std::min(capacity, value.size());
        std::memcpy(at_, value.data(), part);
        at_ += part;
        value.remove_prefix(part);
    }
}

}  // namespace quern::io
