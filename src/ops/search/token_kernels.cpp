// SPDX-License-Identifier: Apache-2.0
// Compiled once for each instruction set; Highway chooses at run time. A phrase matches if its first and its last byte
// match, a word ends before it, and the bytes between agree. The first three are tested for a whole vector of positions
// (after Muła, "SIMD-friendly algorithms for substring searching", 2016). A single word of a phrase is searched in the same
// way.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/search/token_kernels.cpp"
#include "hwy/foreach_target.h"  // must come before highway.h
//
#include <bit>
#include <cstring>

#include "hwy/highway.h"
#include "ops/search/token_code.hpp"

HWY_BEFORE_NAMESPACE();
namespace quern::search_detail {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Signed, so that a word's last byte is below zero; at most as many as a 64-bit number has bits.
using bytes = hn::CappedTag<std::int8_t, 64>;
using vector = hn::Vec<bytes>;

HWY_INLINE vector load(const char* at) {
    return hn::LoadU(bytes(), reinterpret_cast<const std::int8_t*>(at));
}

HWY_INLINE auto last_bytes(vector of) {
    return hn::Lt(of, hn::Zero(bytes()));
}

HWY_INLINE std::uint64_t bits_of(hn::Mask<bytes> mask) {
    std::uint8_t bits[sizeof(std::uint64_t)] = {};
    hn::StoreMaskBits(bytes(), mask, bits);
    std::uint64_t number;
    std::memcpy(&number, bits, sizeof number);
    return number;
}

/// Prefetch distance in bytes: the processor's own prefetching stops at page ends.
constexpr std::size_t ahead = 1024;

class phrase_finder {
  public:
    phrase_finder(std::string_view words, std::string_view phrase)
        : words_(words.data()),
          phrase_(phrase.data()),
          size_(phrase.size()),
          last_(words.size() - phrase.size()),
          first_byte_(hn::Set(bytes(), static_cast<std::int8_t>(phrase.front()))),
          last_byte_(hn::Set(bytes(), static_cast<std::int8_t>(phrase.back()))) {}

    std::uint32_t count() const {
        const std::size_t lanes = hn::Lanes(bytes());
        std::uint32_t found = stands_at(0) ? 1 : 0;
        std::size_t at = 1;  // lower positions are done
        for (; at + lanes <= last_ + 1; at += lanes) {
            __builtin_prefetch(words_ + at + ahead);
            found += count_among(at, 0);
        }
        if (at > last_) return found;
        // The last vector, again over finished positions.
        if (last_ >= lanes) return found + count_among(last_ + 1 - lanes, at + lanes - last_ - 1);
        for (; at <= last_; ++at) found += stands_at(at) ? 1 : 0;
        return found;
    }
    bool stands_at(std::size_t at) const {
        return (at == 0 || ends_a_word(words_[at - 1])) && std::memcmp(words_ + at, phrase_, size_) == 0;
    }

  private:
    /// Of the positions of one vector from `at` on, without the first `settled`, counts those where the phrase matches.
    HWY_INLINE std::uint32_t count_among(std::size_t at, std::size_t settled) const {
        const bytes d;
        const auto begins = hn::Eq(load(words_ + at), first_byte_);
        const auto ends = hn::Eq(load(words_ + at + size_ - 1), last_byte_);
        const auto fits = hn::And(hn::And(begins, ends), last_bytes(load(words_ + at - 1)));
        if (HWY_LIKELY(hn::AllFalse(d, fits))) return 0;
        std::uint64_t places = bits_of(fits) & ~std::uint64_t{0} << settled;
        if (size_ <= 2) return static_cast<std::uint32_t>(std::popcount(places));
        std::uint32_t found = 0;
        for (; places != 0; places &= places - 1)
            found += stands_at(at + static_cast<std::size_t>(std::countr_zero(places))) ? 1 : 0;
        return found;
    }

    const char* words_;
    const char* phrase_;
    std::size_t size_;
    std::size_t last_;  // position
    vector first_byte_, last_byte_;
};

/// Searches for one word of the phrase, by its last byte and the one before it; for a word of one byte, that one is the end
/// of another word.
class anchor_finder {
  public:
    anchor_finder(std::string_view words, std::string_view phrase, anchor_word anchor)
        : words_(words.data()),
          phrase_(phrase.data()),
          size_(phrase.size()),
          anchor_(anchor),
          reach_(anchor.begin + anchor.size - 1),
          last_(words.size() - phrase.size() + reach_) {}

    occurrence_counts count() {
        const std::size_t lanes = hn::Lanes(bytes());
        const char mask = static_cast<char>(anchor_.size == 1 ? 0x80 : 0xff);
        const vector last_byte = hn::Set(bytes(), static_cast<std::int8_t>(phrase_[reach_]));
        const vector masks = hn::Set(bytes(), static_cast<std::int8_t>(mask));
        const vector before =
            hn::Set(bytes(), static_cast<std::int8_t>(anchor_.size == 1 ? mask : phrase_[reach_ - 1]));
        const auto fits_at = [&](std::size_t at) HWY_ATTR {
            return hn::And(hn::Eq(load(words_ + at), last_byte),
                           hn::Eq(hn::And(load(words_ + at - 1), masks), before));
        };
        std::size_t at = reach_;  // lower positions are done
        if (at == 0 && !take(at++)) return counts_;
        for (; at + lanes <= last_ + 1; at += lanes) {
            __builtin_prefetch(words_ + at + ahead);
            const auto fits = fits_at(at);
            if (HWY_UNLIKELY(!hn::AllFalse(bytes(), fits)) && !take_among(at, bits_of(fits))) return counts_;
        }
        if (at > last_) return counts_;
        // The last vector, again over finished positions.
        if (last_ >= lanes) {
            const std::size_t again = last_ + 1 - lanes;
            take_among(again, bits_of(fits_at(again)) & ~std::uint64_t{0} << (at - again));
        } else {
            while (at <= last_ && take(at)) ++at;
        }
        return counts_;
    }

  private:
    bool stands_at(std::size_t at, const char* what, std::size_t size) const {
        return (at == 0 || ends_a_word(words_[at - 1])) && std::memcmp(words_ + at, what, size) == 0;
    }
    /// Takes a position where the word may end. False: no more of them.
    bool take(std::size_t at) {
        if (stands_at(at - reach_, phrase_, size_)) {
            ++counts_.all;
            counts_.followed += at != last_ ? 1 : 0;  // the document ends at the last one
        } else if (!stands_at(at + 1 - anchor_.size, phrase_ + anchor_.begin, anchor_.size)) {
            return true;
        }
        return --anchor_.frequency != 0;
    }
    HWY_NOINLINE bool take_among(std::size_t at, std::uint64_t places) {
        for (; places != 0; places &= places - 1)
            if (!take(at + static_cast<std::size_t>(std::countr_zero(places)))) return false;
        return true;
    }

    const char* words_;
    const char* phrase_;
    std::size_t size_;
    anchor_word anchor_;
    std::size_t reach_;  // the anchor's last byte in the phrase
    std::size_t last_;   // position
    occurrence_counts counts_;
};

occurrence_counts count_around(std::string_view words, std::string_view phrase, anchor_word anchor) {
    if (words.size() < phrase.size()) return {};
    return anchor_finder(words, phrase, anchor).count();
}

occurrence_counts count_occurrences(std::string_view words, std::string_view phrase) {
    occurrence_counts counts;
    if (words.size() < phrase.size()) return counts;
    const phrase_finder finder(words, phrase);
    counts.all = finder.count();
    const bool at_the_end = counts.all != 0 && finder.stands_at(words.size() - phrase.size());
    counts.followed = counts.all - (at_the_end ? 1 : 0);
    return counts;
}

std::uint64_t count_words(std::string_view words) {
    const std::size_t lanes = hn::Lanes(bytes());
    std::uint64_t count = 0;
    std::size_t i = 0;
    for (; i + lanes <= words.size(); i += lanes)
        count += hn::CountTrue(bytes(), last_bytes(load(words.data() + i)));
    for (; i < words.size(); ++i) count += ends_a_word(words[i]) ? 1 : 0;
    return count;
}

}  // namespace HWY_NAMESPACE
}  // namespace quern::search_detail
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace quern::search_detail {

HWY_EXPORT(count_occurrences);
HWY_EXPORT(count_around);
HWY_EXPORT(count_words);

occurrence_counts count_occurrences(std::string_view words, std::string_view phrase) {
    return HWY_DYNAMIC_DISPATCH(count_occurrences)(words, phrase);
}
occurrence_counts count_occurrences(std::string_view words, std::string_view phrase, anchor_word anchor) {
    return HWY_DYNAMIC_DISPATCH(count_around)(words, phrase, anchor);
}
std::uint64_t count_words(std::string_view words) {
    return HWY_DYNAMIC_DISPATCH(count_words)(words);
}

}  // namespace quern::search_detail
#endif
