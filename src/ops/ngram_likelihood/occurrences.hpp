// SPDX-License-Identifier: Apache-2.0
// Where the words of occurrences stand on a place, and what is counted of them whatever their order.
#pragma once

#include <cstdint>
#include <vector>

#include "ops/ngram_likelihood/items.hpp"
#include "primitives/histogram/histogram.hpp"
#include "quern/ops/ngram_likelihood.hpp"

namespace quern::ngram_detail {

/// Where words stand: those of spot s are words[s · stride] and left[s] - 1 behind it, word firsts[s] and on of document
/// document_of[s].
struct occurrence_table {
    const std::uint32_t* words;
    unsigned stride;
    const std::uint32_t* document_of;
    const std::uint32_t* firsts;
    const std::uint8_t* left;

    constexpr std::uint32_t word(std::uint32_t spot, unsigned behind) const {
        return words[std::uint64_t{spot} * stride + behind];
    }
};

/// What is counted of occurrences whatever their order: how many words are left, and behind how many words the first unknown one
/// comes, as one number.
struct code_occurrences {
    static constexpr std::uint32_t none = most_ngram_order, codes = (most_ngram_order + 1) * (none + 1);

    occurrence_table text;
    const std::uint32_t* spots;  ///< null: all of the table
    std::uint32_t unknown;
    std::uint32_t* out;
    constexpr void operator()(std::uint64_t i) const {
        const std::uint32_t spot = spots == nullptr ? static_cast<std::uint32_t>(i) : spots[i],
                            left = text.left[spot];
        std::uint32_t clean = 0;
        while (clean < left && text.word(spot, clean) != unknown) ++clean;
        out[i] = left * (none + 1) + (clean == left ? none : clean);
    }
};

/// Adds how many of these occurrences go on to n words, and have an unknown one among them, to `totals`, which are of the n that
/// are asked for. `spots`: null: the first `items` of the table.
template <class Place>
void count_occurrences(Place& place, const occurrence_table& text, const std::uint32_t* spots,
                       std::uint64_t items, std::uint32_t unknown, std::vector<ngram_totals>& totals) {
    constexpr std::uint32_t none = code_occurrences::none;
    auto codes = make_array<std::uint32_t>(place, items, "counting n-grams");
    auto counted = make_array<std::uint64_t>(place, code_occurrences::codes, "counting n-grams");
    for_each_item(place, items, code_occurrences{text, spots, unknown, codes.data()});
    primitives::histogram<std::uint32_t>(place, codes.span(), counted.span());
    const std::vector<std::uint64_t> counts = to_host(place, counted.span());
    for (ngram_totals& of_n : totals) {
        for (std::uint32_t left = of_n.n; left <= most_ngram_order; ++left) {
            for (std::uint32_t clean = 0; clean <= none; ++clean) {
                const std::uint64_t count = counts[left * (none + 1) + clean];
                of_n.occurrences += count;
                if (clean < none && clean < of_n.n) of_n.with_unknown += count;
            }
        }
    }
}

}  // namespace quern::ngram_detail
