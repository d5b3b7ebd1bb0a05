// SPDX-License-Identifier: Apache-2.0
#include "ops/near_duplicates/filter/gram_filter.hpp"

#include <algorithm>
#include <utility>

namespace quern::near_duplicates_detail {
namespace {

constexpr unsigned bucket_bits = 16;
// Between two checks of the missing grams: a branch per gram would cost more.
constexpr std::size_t grams_at_once = 64;
constexpr std::uint64_t odd = 0x9e3779b97f4a7c15;  // the golden ratio (Knuth)

/// Calls step(bucket) for the q-grams that begin at first, …, last - 1.
template <class Unit, class Step>
void for_each_gram(std::span<const Unit> text, unsigned q, std::size_t first, std::size_t last,
                   const Step& step) {
    if (first == last) return;
    constexpr unsigned bits = sizeof(Unit) == 1 ? 8 : 16;  // packs code points of the first plane
    const unsigned window = bits * q;
    const std::uint64_t mask = window == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << window) - 1;
    std::uint64_t gram = 0;
    for (unsigned i = 0; i + 1 < q; ++i) gram = gram << bits ^ text[first + i];
    for (std::size_t i = first; i < last; ++i) {
        gram = (gram << bits ^ text[i + q - 1]) & mask;
        step(static_cast<std::size_t>(gram * odd >> (64 - bucket_bits)));
    }
}

}  // namespace

template <class Unit>
gram_filter<Unit>::gram_filter() {
    for (const unsigned q : {2u, 3u, 4u}) all_.push_back({q, {}});
}

template <class Unit>
void gram_filter<Unit>::fill(counts& grams, std::int32_t by) {
    grams.of_bucket.resize(std::size_t{1} << bucket_bits);
    for_each_gram(text_, grams.q, 0, grams_in(text_.size(), grams.q),
                  [&](std::size_t bucket) { grams.of_bucket[bucket] += by; });
    grams.filled = by > 0;
}

template <class Unit>
void gram_filter<Unit>::set(std::span<const Unit> text) {
    for (counts& grams : all_)
        if (grams.filled) fill(grams, -1);
    text_ = text;
    has_pairs_ = false;
}

template <class Unit>
auto gram_filter<Unit>::pairs_of(std::uint32_t number, std::span<const Unit> text) -> const pair_counts& {
    if (known_.empty()) known_.resize(max_known);
    known_text& known = known_[number % max_known];
    if (!known.is_known || known.number != number) {
        sketch_pairs(text, known.pairs.data());
        known.number = number;
        known.is_known = true;
    }
    return known.pairs;
}

template <class Unit>
bool gram_filter<Unit>::allows(std::uint32_t number, std::span<const Unit> other, std::uint32_t d) {
    if (!has_pairs_) sketch_pairs(text_, pairs_.data());
    has_pairs_ = true;
    const std::uint64_t own = grams_in(text_.size(), 2), others = grams_in(other.size(), 2);
    const std::int64_t max = largest_norm(2, d, own < others ? others - own : own - others);
    const std::int64_t norm = pair_norm(pairs_.data(), pairs_of(number, other).data());
    if (norm > max) return false;
    // Nearly all such texts are a pair: the q-grams would hardly exclude one.
    return norm * 4 <= max || grams_allow(other, d);
}

template <class Unit>
bool gram_filter<Unit>::grams_allow(std::span<const Unit> other, std::uint32_t d) {
    const std::size_t longer = std::max(text_.size(), other.size());
    // Long grams discriminate best, as long as d edits cannot touch more than half of them.
    const unsigned q = std::uint64_t{d} * 8 <= longer ? 4 : std::uint64_t{d} * 6 <= longer ? 3 : 2;
    const std::uint64_t lost = std::uint64_t{d} * q;
    if (longer < q || lost >= longer - q + 1) return true;
    counts& grams = all_[q - 2];
    if (!grams.filled) fill(grams, 1);
    // The grams that only one text has are at most `lost`, for both texts; so is the excess of the other one.
    const std::uint64_t own = grams_in(text_.size(), q), others = grams_in(other.size(), q);
    if (own > others + lost) return false;
    const std::uint64_t max = std::min(lost, others + lost - own);
    std::uint64_t missing = 0;
    std::size_t seen = 0;
    while (seen < others && missing <= max) {
        const std::size_t begin = std::exchange(seen, std::min<std::size_t>(seen + grams_at_once, others));
        for_each_gram(other, q, begin, seen,
                      [&](std::size_t bucket) { missing += grams.of_bucket[bucket]-- <= 0 ? 1 : 0; });
    }
    for_each_gram(other, q, 0, seen, [&](std::size_t bucket) { ++grams.of_bucket[bucket]; });
    return missing <= max;
}

template class gram_filter<std::uint8_t>;
template class gram_filter<std::uint32_t>;

}  // namespace quern::near_duplicates_detail
