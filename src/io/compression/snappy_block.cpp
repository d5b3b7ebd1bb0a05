// SPDX-License-Identifier: Apache-2.0
// An element is a tag, up to four bytes of a number, and for a literal its bytes. Almost all elements make at most 16 bytes
// out of bytes that are there already: one copy of 16 bytes does them, whichever kind they are, and what it writes too much
// is overwritten by the next element. Near the ends, and for all else, lengths are kept exactly.
#include "io/compression/snappy_block.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace quern::io {
namespace {

static_assert(std::endian::native == std::endian::little, "numbers are read as they lie in the data");

constexpr std::size_t wide = 16, max_copy = 64;
/// Literals of more bytes have their length in the bytes after the tag.
constexpr std::size_t max_literal_in_tag = 60;

/// What a tag says; in four bytes, which are read at once.
struct element {
    std::uint8_t length = 0;         ///< 0: a literal whose length follows
    std::uint8_t number_bytes = 0;   ///< after the tag: of a copy's offset, or of such a length
    std::uint16_t offset_above = 0;  ///< the part of a copy's offset that is in the tag
};

constexpr bool is_literal(unsigned tag) {
    return (tag & 3U) == 0;
}

constexpr element element_of(unsigned tag) {
    const unsigned kind = tag & 3U, high = tag >> 2U;
    element result;
    if (is_literal(tag) && high >= max_literal_in_tag) {
        result.number_bytes = static_cast<std::uint8_t>(high - max_literal_in_tag + 1);
    } else if (kind == 1) {
        result.length = static_cast<std::uint8_t>(4 + (high & 7U));
        result.number_bytes = 1;
        result.offset_above = static_cast<std::uint16_t>(high >> 3U << 8U);
    } else {
        result.length = static_cast<std::uint8_t>(high + 1);
        result.number_bytes = static_cast<std::uint8_t>(kind == 3 ? 4 : kind);
    }
    return result;
}

constexpr std::array<element, 256> elements = [] {
    std::array<element, 256> result{};
    for (unsigned tag = 0; tag < result.size(); ++tag) result[tag] = element_of(tag);
    return result;
}();

std::uint32_t number_of(const char* at, std::size_t bytes) {
    std::uint32_t number = 0;
    std::memcpy(&number, at, bytes);
    return number;
}

/// The length that the data begin with (ULEB128, 32 bits), and what follows it; false if it is damaged.
bool take_length(std::string_view& packed, std::uint64_t& length) {
    length = 0;
    for (unsigned shift = 0; shift < 35; shift += 7) {
        if (packed.empty()) return false;
        const auto byte = static_cast<unsigned char>(packed.front());
        packed.remove_prefix(1);
        length |= std::uint64_t{byte & 127U} << shift;
        if (byte < 128) return length <= UINT32_MAX;
    }
    return false;
}

class snappy_decoder {
  public:
    snappy_decoder(std::string_view packed, std::span<char> plain)
        : in_(packed.data()),
          in_end_(in_ + packed.size()),
          begin_(plain.data()),
          out_(begin_),
          out_end_(begin_ + plain.size()) {}

    bool run() {
        run_fast();
        while (in_ != in_end_)
            if (!take_element()) return false;
        return out_ == out_end_;
    }

  private:
    std::size_t in_left() const { return static_cast<std::size_t>(in_end_ - in_); }
    std::size_t room() const { return static_cast<std::size_t>(out_end_ - out_); }
    std::size_t made() const { return static_cast<std::size_t>(out_ - begin_); }

    /// As long as wide copies stay within both ends; stops at an element that is damaged, or longer than a tag can say.
    void run_fast() {
        constexpr std::size_t max_in = 1 + max_copy + wide, max_out = max_copy + wide;
        constexpr std::array<std::uint32_t, 5> masks = {0, 0xFF, 0xFFFF, 0xFFFFFF, 0xFFFFFFFF};
        if (in_left() < max_in || room() < max_out) return;
        const char* const in_last = in_end_ - max_in;
        const char* const out_last = out_end_ - max_out;
        const char* in = in_;
        char* out = out_;
        while (in <= in_last && out <= out_last) {
            const auto tag = static_cast<unsigned char>(*in);
            const element its = elements[tag];
            const std::size_t length = its.length;
            const bool literal = is_literal(tag);
            const std::size_t offset = (number_of(in + 1, 4) & masks[its.number_bytes]) + its.offset_above;
            if (length == 0 || (!literal && offset - 1 >= static_cast<std::size_t>(out - begin_))) break;
            const char* const from = literal ? in + 1 : out - offset;
            in += 1 + (literal ? length : std::size_t{its.number_bytes});
            if (literal || offset >= wide) {
                for (std::size_t at = 0;; at += wide) {
                    std::memcpy(out + at, from + at, wide);
                    if (at + wide >= length) break;
                }
            } else {
                repeat(out, offset, length);
            }
            out += length;
        }
        in_ = in;
        out_ = out;
    }

    /// Writes `length` bytes, and up to 15 after them, that repeat the `offset` bytes before.
    static void repeat(char* out, std::size_t offset, std::size_t length) {
        std::array<char, wide> pattern{};
        for (std::size_t i = 0; i < wide; ++i) pattern[i] = *(out - offset + i % offset);
        const std::size_t whole = wide - wide % offset;
        for (std::size_t at = 0; at < length; at += whole) std::memcpy(out + at, pattern.data(), wide);
    }

    /// One element, exactly; false if it is damaged.
    bool take_element() {
        const auto tag = static_cast<unsigned char>(*in_++);
        const element its = elements[tag];
        if (its.number_bytes > in_left()) return false;
        const std::size_t number = number_of(in_, its.number_bytes);
        in_ += its.number_bytes;
        if (is_literal(tag)) return take_literal(its.length != 0 ? its.length : number + 1);
        return copy(number + its.offset_above, its.length);
    }
    bool take_literal(std::size_t length) {
        if (length > in_left() || length > room()) return false;
        std::memcpy(out_, in_, length);
        in_ += length;
        out_ += length;
        run_fast();
        return true;
    }
    bool copy(std::size_t offset, std::size_t length) {
        if (offset == 0 || offset > made() || length > room()) return false;
        for (std::size_t i = 0; i < length; ++i, ++out_) *out_ = *(out_ - offset);
        return true;
    }

    const char* in_;
    const char* in_end_;
    char* begin_;
    char* out_;
    char* out_end_;
};

}  // namespace

bool decompress_snappy(std::string_view packed, std::span<char> plain) {
    std::uint64_t length = 0;
    return take_length(packed, length) && length == plain.size() && snappy_decoder(packed, plain).run();
}

}  // namespace quern::io
