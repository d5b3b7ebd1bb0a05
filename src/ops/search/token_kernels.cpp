// SPDX-License-Identifier: Apache-2.0
// Compiled once for each instruction set; Highway chooses at run time. A phrase stands where its first and its last byte
// do, a word ends before it, and what lies between agrees: the first three are tested for a whole vector of places
// (after Muła, "SIMD-friendly algorithms for substring searching", 2016).
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/search/token_kernels.cpp"
#include "hwy/foreach_target.h"  // must come before highway.h
//
#include <bit>
#include <cstring>

#include "hwy/highway.h"
#include "ops/search/token_code.hpp"
#include "ops/search/token_kernels.hpp"

HWY_BEFORE_NAMESPACE();
namespace quern::search_detail {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Signed, so that a word's last byte is one below zero; at most as many as a 64-bit number has bits.
using bytes = hn::CappedTag<std::int8_t, 64>;
using vector = hn::Vec<bytes>;

HWY_INLINE vector load(const char* at) {
    return hn::LoadU(bytes(), reinterpret_cast<const std::int8_t*>(at));
}

HWY_INLINE auto last_bytes(vector of) {
    return hn::Lt(of, hn::Zero(bytes()));
}

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
        std::size_t at = 1;  // places below are settled
        for (; at + lanes <= last_ + 1; at += lanes) found += count_among(at, 0);
        if (at > last_) return found;
        // The last vector, once more over settled places.
        if (last_ >= lanes) return found + count_among(last_ + 1 - lanes, at + lanes - last_ - 1);
        for (; at <= last_; ++at) found += stands_at(at) ? 1 : 0;
        return found;
    }
    bool stands_at(std::size_t at) const {
        return (at == 0 || ends_a_word(words_[at - 1])) && std::memcmp(words_ + at, phrase_, size_) == 0;
    }

  private:
    /// Of the places of one vector from `at` on, but the first `settled`, those where the phrase stands.
    HWY_INLINE std::uint32_t count_among(std::size_t at, std::size_t settled) const {
        const bytes d;
        const auto begins = hn::Eq(load(words_ + at), first_byte_);
        const auto ends = hn::Eq(load(words_ + at + size_ - 1), last_byte_);
        const auto fits = hn::And(hn::And(begins, ends), last_bytes(load(words_ + at - 1)));
        if (HWY_LIKELY(hn::AllFalse(d, fits))) return 0;
        std::uint8_t bits[sizeof(std::uint64_t)] = {};
        hn::StoreMaskBits(d, fits, bits);
        std::uint64_t places;
        std::memcpy(&places, bits, sizeof places);
        places &= ~std::uint64_t{0} << settled;
        if (size_ <= 2) return static_cast<std::uint32_t>(std::popcount(places));
        std::uint32_t found = 0;
        for (; places != 0; places &= places - 1)
            found += stands_at(at + static_cast<std::size_t>(std::countr_zero(places))) ? 1 : 0;
        return found;
    }

    const char* words_;
    const char* phrase_;
    std::size_t size_;
    std::size_t last_;  // place
    vector first_byte_, last_byte_;
};

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
HWY_EXPORT(count_words);

occurrence_counts count_occurrences(std::string_view words, std::string_view phrase) {
    return HWY_DYNAMIC_DISPATCH(count_occurrences)(words, phrase);
}
std::uint64_t count_words(std::string_view words) {
    return HWY_DYNAMIC_DISPATCH(count_words)(words);
}

}  // namespace quern::search_detail
#endif
