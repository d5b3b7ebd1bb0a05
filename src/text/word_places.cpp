// SPDX-License-Identifier: Apache-2.0
// A word of ASCII comes from the same bytes in any case, or from a segment with a byte beyond ASCII (a full-width letter, a
// soft hyphen within the word). So its places are among those bytes, which vector code finds by two bytes of each word, as
// Muła does for one string (SIMD-friendly algorithms for substring searching, 2016), and the bytes beyond ASCII. Each
// place is extended to certain boundaries: between a letter or digit and a neutral byte (break_rules.hpp). What an analyzer
// finds from a boundary on does not depend on the text before it (unicode_words.cpp).
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "text/word_places.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "text/word_places.hpp"

HWY_BEFORE_NAMESPACE();
namespace quern::text::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET == HWY_SCALAR

void mark(const char* from, std::size_t blocks, std::span<const byte_pair> pairs, std::uint64_t* bits) {
    const auto* in = reinterpret_cast<const std::uint8_t*>(from);
    for (std::size_t b = 0; b < blocks; ++b, in += 64) {
        bits[b] = 0;
        for (std::size_t i = 0; i < 64; ++i) {
            bool marked = in[i] >= 0x80;
            for (const byte_pair& p : pairs)
                marked = marked ||
                         ((in[i] | p.first_case) == p.first && (in[i + p.distance] | p.last_case) == p.last);
            if (marked) bits[b] |= std::uint64_t{1} << i;
        }
    }
}

#else

void mark(const char* from, std::size_t blocks, std::span<const byte_pair> pairs, std::uint64_t* bits) {
    const hn::CappedTag<std::uint8_t, 64> bytes;
    const hn::RebindToSigned<decltype(bytes)> signed_bytes;
    const std::size_t lanes = hn::Lanes(bytes);
    const auto* in = reinterpret_cast<const std::uint8_t*>(from);
    for (std::size_t b = 0; b < blocks; ++b, in += 64) {
        auto* const out = reinterpret_cast<std::uint8_t*>(bits + b);
        for (std::size_t i = 0; i < 64; i += lanes) {
            const auto v = hn::LoadU(bytes, in + i);
            auto marked = hn::RebindMask(bytes, hn::Lt(hn::BitCast(signed_bytes, v), hn::Zero(signed_bytes)));
            for (const byte_pair& p : pairs) {
                const auto last = hn::LoadU(bytes, in + i + p.distance);
                const auto is_first =
                    hn::Eq(hn::Or(v, hn::Set(bytes, p.first_case)), hn::Set(bytes, p.first));
                const auto is_last =
                    hn::Eq(hn::Or(last, hn::Set(bytes, p.last_case)), hn::Set(bytes, p.last));
                marked = hn::Or(marked, hn::And(is_first, is_last));
            }
            hn::StoreMaskBits(bytes, marked, out + i / 8);
        }
    }
}

#endif

}  // namespace quern::text::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <unicode/locid.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/ascii.hpp"
#include "text/break_rules.hpp"

namespace quern::text {
namespace {

using ascii_class = break_rules::ascii_class;

bool is_ascii(char c) {
    return static_cast<unsigned char>(c) < 0x80;
}
bool is_alphanumeric(char c) {
    return break_rules::class_of(c) == ascii_class::alphanumeric;
}
bool is_neutral(char c) {
    return is_ascii(c) && break_rules::class_of(c) == ascii_class::neutral;
}
std::uint8_t case_bit(char c) {
    return c >= 'a' && c <= 'z' ? 0x20 : 0;
}

/// Whether there is a boundary of words at `at`, whatever else is in the text.
bool is_boundary(std::string_view text, std::size_t at) {
    if (at == 0 || at == text.size()) return true;
    const char before = text[at - 1], after = text[at];
    return (is_neutral(before) && is_alphanumeric(after)) || (is_alphanumeric(before) && is_neutral(after));
}

}  // namespace

HWY_EXPORT(mark);

void mark_pairs(const char* from, std::size_t blocks, std::span<const byte_pair> pairs, std::uint64_t* bits) {
    static_assert(std::endian::native == std::endian::little, "bits are stored byte by byte");
    HWY_DYNAMIC_DISPATCH(mark)(from, blocks, pairs, bits);
}

bool word_places::can_recognise(const text_options& options) {
    if (options.tokens != token_rule::unicode || options.stem != stemmer::none) return false;
    const icu::Locale locale = options.language == "auto"
                                   ? icu::Locale::getRoot()
                                   : icu::Locale::createCanonical(options.language.c_str());
    const auto rules = break_rules::get(break_rules::kind::words, locale);
    return rules != nullptr && rules->ascii_words_are_simple();
}

word_places::word_places(std::span<const std::string> words) {
    for (const std::string& word : words) {
        if (word.empty() || !std::ranges::all_of(word, is_ascii)) continue;
        words_.emplace_back(word);
        const std::size_t distance = std::min(word.size() - 1, max_distance);
        pairs_.push_back({static_cast<std::uint8_t>(word[0]), case_bit(word[0]),
                          static_cast<std::uint8_t>(word[distance]), case_bit(word[distance]),
                          static_cast<std::uint32_t>(distance)});
    }
}

/// The length of the longest word that may be at `at`; 0: none.
std::size_t word_places::match_at(std::string_view text, std::size_t at) const {
    std::size_t longest = 0;
    for (const std::string_view word : words_) {
        if (word.size() <= longest || word.size() > text.size() - at) continue;
        const std::size_t end = at + word.size();
        // A run of letters and digits has no boundary within.
        if (at > 0 && is_alphanumeric(word.front()) && is_alphanumeric(text[at - 1])) continue;
        if (end < text.size() && is_alphanumeric(word.back()) && is_alphanumeric(text[end])) continue;
        const bool same = std::equal(
            word.begin(), word.end(), text.begin() + static_cast<std::ptrdiff_t>(at),
            [](char of_word, char c) { return (c >= 'A' && c <= 'Z' ? (c | 0x20) : c) == of_word; });
        if (same) longest = word.size();
    }
    return longest;
}

/// Extends [begin, end) to boundaries; joins it with the last part if the gap is not worth another one.
void word_places::add(std::string_view text, std::size_t begin, std::size_t end) {
    constexpr std::size_t gap = 64;
    const std::size_t least = parts_.empty() ? 0 : parts_.back().end;
    while (begin > least && !is_boundary(text, begin)) --begin;
    while (!is_boundary(text, end)) ++end;
    if (!parts_.empty() && begin - least <= gap) {
        parts_.back().end = end;
    } else {
        parts_.push_back({begin, end});
    }
}

std::span<const word_places::part> word_places::find(std::string_view text) {
    parts_.clear();
    // Whole blocks where they are; the rest in a copy that is readable beyond its end.
    const std::size_t blocks = text.size() > max_distance ? (text.size() - max_distance) / 64 : 0,
                      rest = text.size() - blocks * 64, rest_blocks = (rest + 63) / 64;
    bits_.resize(blocks + rest_blocks);
    mark_pairs(text.data(), blocks, pairs_, bits_.data());
    char copy[192] = {};
    std::memcpy(copy, text.data() + blocks * 64, rest);
    mark_pairs(copy, rest_blocks, pairs_, bits_.data() + blocks);

    std::size_t done = 0;  // before it everything is in a part or excluded
    for (std::size_t b = 0; b < bits_.size(); ++b) {
        for (std::uint64_t left = bits_[b]; left != 0; left &= left - 1) {
            const std::size_t at = b * 64 + static_cast<std::size_t>(std::countr_zero(left));
            if (at < done || at >= text.size()) continue;
            const std::size_t length = is_ascii(text[at]) ? match_at(text, at) : 1;
            if (length == 0) continue;
            add(text, at, at + length);
            done = parts_.back().end;
        }
    }
    return parts_;
}

}  // namespace quern::text
#endif
