// SPDX-License-Identifier: Apache-2.0
// Classifies bytes, 64 at a time: a dozen vector comparisons instead of 64 look-ups. The result is a bit mask, so that
// the search for words steps from word to word instead of byte by byte. This file is compiled once for each kind of
// processor (Highway's foreach_target); the best one is chosen at run time.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "text/byte_masks.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "text/byte_masks.hpp"

HWY_BEFORE_NAMESPACE();
namespace quern::text::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET == HWY_SCALAR

// A vector of one lane has no mask bits to store.
void classify(const char* from, std::size_t blocks, char* lowered, byte_masks* masks) {
    for (std::size_t b = 0; b < blocks; ++b) {
        masks[b] = {};
        for (std::size_t i = 0; i < 64; ++i) {
            const char c = from[b * 64 + i];
            const std::uint64_t bit = std::uint64_t{1} << i;
            const bool upper = c >= 'A' && c <= 'Z';
            lowered[b * 64 + i] = upper ? static_cast<char>(c | 0x20) : c;
            if (upper || (c >= 'a' && c <= 'z')) masks[b].letters |= bit;
            if (c >= '0' && c <= '9') masks[b].digits |= bit;
            if (c == '\'' || c == '.' || c == ',' || c == ':' || c == ';') masks[b].joiners |= bit;
            if (c == '_' || c == '@' || (c & 0x80) != 0) masks[b].others |= bit;
        }
    }
}

#else

void classify(const char* from, std::size_t blocks, char* lowered, byte_masks* masks) {
    const hn::CappedTag<std::uint8_t, 64> bytes;
    const hn::RebindToSigned<decltype(bytes)> signed_bytes;
    const std::size_t lanes = hn::Lanes(bytes);
    const auto* in = reinterpret_cast<const std::uint8_t*>(from);
    auto* out = reinterpret_cast<std::uint8_t*>(lowered);
    for (std::size_t b = 0; b < blocks; ++b) {
        auto* letters = reinterpret_cast<std::uint8_t*>(&masks[b].letters);
        auto* digits = reinterpret_cast<std::uint8_t*>(&masks[b].digits);
        auto* joiners = reinterpret_cast<std::uint8_t*>(&masks[b].joiners);
        auto* others = reinterpret_cast<std::uint8_t*>(&masks[b].others);
        for (std::size_t i = 0; i < 64; i += lanes) {
            const auto v = hn::LoadU(bytes, in + b * 64 + i);
            const auto equals = [&](char c) {
                return hn::Eq(v, hn::Set(bytes, static_cast<std::uint8_t>(c)));
            };
            const auto low = hn::Or(v, hn::Set(bytes, std::uint8_t{0x20}));
            const auto in_alphabet = hn::Sub(low, hn::Set(bytes, std::uint8_t{'a'}));
            const auto is_letter =
                hn::Eq(hn::Min(in_alphabet, hn::Set(bytes, std::uint8_t{25})), in_alphabet);
            const auto in_digits = hn::Sub(v, hn::Set(bytes, std::uint8_t{'0'}));
            const auto is_digit = hn::Eq(hn::Min(in_digits, hn::Set(bytes, std::uint8_t{9})), in_digits);
            const auto is_joiner = hn::Or(hn::Or(equals('\''), equals('.')),
                                          hn::Or(equals(','), hn::Or(equals(':'), equals(';'))));
            const auto beyond =
                hn::RebindMask(bytes, hn::Lt(hn::BitCast(signed_bytes, v), hn::Zero(signed_bytes)));
            const auto is_other = hn::Or(beyond, hn::Or(equals('_'), equals('@')));
            hn::StoreU(hn::IfThenElse(is_letter, low, v), bytes, out + b * 64 + i);
            hn::StoreMaskBits(bytes, is_letter, letters + i / 8);
            hn::StoreMaskBits(bytes, is_digit, digits + i / 8);
            hn::StoreMaskBits(bytes, is_joiner, joiners + i / 8);
            hn::StoreMaskBits(bytes, is_other, others + i / 8);
        }
    }
}

#endif

}  // namespace quern::text::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <algorithm>
#include <cstring>

namespace quern::text {

HWY_EXPORT(classify);

void classify_bytes(const char* from, std::size_t blocks, char* lowered, byte_masks* masks) {
    static_assert(std::endian::native == std::endian::little, "masks are stored byte by byte");
    HWY_DYNAMIC_DISPATCH(classify)(from, blocks, lowered, masks);
}

void byte_chunk::load(std::string_view text, std::size_t begin) {
    size_ = std::min(text.size() - begin, max_bytes);
    const std::size_t whole = size_ / 64;
    classify_bytes(text.data() + begin, whole, lowered_.data(), masks_.data());
    char rest[64] = {};
    std::memcpy(rest, text.data() + begin + whole * 64, size_ % 64);
    classify_bytes(rest, 1, lowered_.data() + whole * 64, masks_.data() + whole);
    blocks_ = whole + 1;
}

}  // namespace quern::text
#endif
