// SPDX-License-Identifier: Apache-2.0
// Unpacking is unrolled for each width, so that every shift is a constant. Four lanes are one vector of the compiler's
// vector extension (GCC and clang map it to SSE2, NEON …), so no instruction set needs to be chosen.
#include "ops/search/bit_packing.hpp"

#include <array>
#include <bit>
#include <cstring>
#include <utility>

namespace quern::search_detail {
namespace {

using lanes = std::uint32_t __attribute__((vector_size(16)));
static_assert(std::endian::native == std::endian::little, "packed words are little-endian");

inline lanes load(const char* in, unsigned word) {
    lanes value;
    std::memcpy(&value, in + 16 * static_cast<std::size_t>(word), sizeof value);
    return value;
}

template <unsigned Width, unsigned Row>
inline void unpack_row(const char* in, std::uint32_t* numbers) {
    constexpr unsigned bit = Row * Width, word = bit / 32, shift = bit % 32;
    lanes value = load(in, word) >> shift;
    if constexpr (shift + Width > 32) value |= load(in, word + 1) << (32 - shift);
    if constexpr (Width < 32) value &= (std::uint32_t{1} << Width) - 1;
    std::memcpy(numbers + 4 * Row, &value, sizeof value);
}

template <unsigned Width>
void unpack(const char* in, std::uint32_t* numbers) {
    if constexpr (Width == 0) {
        std::memset(numbers, 0, block_size * sizeof *numbers);
    } else {
        [&]<unsigned... Row>(std::integer_sequence<unsigned, Row...>) {
            (unpack_row<Width, Row>(in, numbers), ...);
        }(std::make_integer_sequence<unsigned, 32>{});
    }
}

using unpacker = void (*)(const char*, std::uint32_t*);
template <unsigned... Width>
constexpr std::array<unpacker, sizeof...(Width)> unpackers(std::integer_sequence<unsigned, Width...>) {
    return {&unpack<Width>...};
}
constexpr auto unpack_width = unpackers(std::make_integer_sequence<unsigned, 33>{});

}  // namespace

void pack_block(const std::uint32_t* numbers, unsigned width, char* out) {
    std::uint32_t words[128] = {};
    for (unsigned i = 0; i < block_size && width != 0; ++i) {
        const unsigned lane = i % 4, bit = i / 4 * width, word = bit / 32, shift = bit % 32;
        words[4 * word + lane] |= numbers[i] << shift;
        if (shift + width > 32) words[4 * (word + 1) + lane] |= numbers[i] >> (32 - shift);
    }
    std::memcpy(out, words, packed_bytes(width));
}

void unpack_block(const char* in, unsigned width, std::uint32_t* numbers) {
    unpack_width[width](in, numbers);
}

}  // namespace quern::search_detail
