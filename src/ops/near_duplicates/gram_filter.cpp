// SPDX-License-Identifier: Apache-2.0
#include "ops/near_duplicates/gram_filter.hpp"

#include <algorithm>

#include "ops/near_duplicates/sketch.hpp"

namespace quern::near_duplicates_detail {
namespace {

constexpr unsigned bucket_bits = 16;
constexpr std::uint64_t odd = 0x9e3779b97f4a7c15;  // the golden ratio (Knuth)

/// Calls step(bucket) for every q-gram, until it returns false; returns how many it was called for.
template <class Unit, class Step>
std::size_t for_each_gram(std::span<const Unit> text, unsigned q, const Step& step) {
    if (text.size() < q) return 0;
    constexpr unsigned bits = sizeof(Unit) == 1 ? 8 : 16;  // code points of the first plane side by side
    const unsigned window = bits * q;
    const std::uint64_t mask = window == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << window) - 1;
    std::uint64_t gram = 0;
    for (unsigned i = 0; i + 1 < q; ++i) gram = gram << bits ^ text[i];
    const std::size_t grams = text.size() - q + 1;
    for (std::size_t i = 0; i < grams; ++i) {
        gram = (gram << bits ^ text[i + q - 1]) & mask;
        if (!step(static_cast<std::size_t>(gram * odd >> (64 - bucket_bits)))) return i + 1;
    }
    return grams;
}

}  // namespace

template <class Unit>
gram_filter<Unit>::gram_filter() {
    for (const unsigned q : {2u, 3u, 4u}) all_.push_back({q, {}});
}

template <class Unit>
void gram_filter<Unit>::fill(counts& grams, std::int32_t by) {
    grams.of_bucket.resize(std::size_t{1} << bucket_bits);
    for_each_gram(text_, grams.q, [&](std::size_t bucket) {
        grams.of_bucket[bucket] += by;
        return true;
    });
    grams.filled = by > 0;
}

template <class Unit>
void gram_filter<Unit>::set(std::span<const Unit> text) {
    for (counts& grams : all_)
        if (grams.filled) fill(grams, -1);
    text_ = text;
}

template <class Unit>
bool gram_filter<Unit>::allows(std::span<const Unit> other, std::uint32_t d) {
    const std::size_t longer = std::max(text_.size(), other.size());
    // Long grams tell texts apart best, as long as d edits cannot touch more than half of them.
    const unsigned q = std::uint64_t{d} * 8 <= longer ? 4 : std::uint64_t{d} * 6 <= longer ? 3 : 2;
    const std::uint64_t lost = std::uint64_t{d} * q;
    if (longer < q || lost >= longer - q + 1) return true;
    counts& grams = all_[q - 2];
    if (!grams.filled) fill(grams, 1);
    // What the text has and the other one has not is at most `lost`, and the other way round.
    const std::uint64_t own = grams_in(text_.size(), q);
    std::uint64_t common = 0, missing = 0;
    const std::size_t seen = for_each_gram(other, q, [&](std::size_t bucket) {
        if (grams.of_bucket[bucket]-- > 0) {
            ++common;
        } else if (++missing > lost) {
            return false;
        }
        return true;
    });
    std::size_t left = seen;
    for_each_gram(other, q, [&](std::size_t bucket) {
        if (left-- == 0) return false;
        ++grams.of_bucket[bucket];
        return true;
    });
    return missing <= lost && own <= common + lost;
}

template class gram_filter<std::uint8_t>;
template class gram_filter<std::uint32_t>;

}  // namespace quern::near_duplicates_detail
