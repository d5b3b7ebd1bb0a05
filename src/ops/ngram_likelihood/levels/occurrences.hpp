// SPDX-License-Identifier: Apache-2.0
// The positions of the words of occurrences on a place, and counts that do not depend on their order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "device/cpu/parallel.hpp"
#include "primitives/histogram/histogram.hpp"
#include "quern/ops/ngram_likelihood.hpp"

namespace quern::ngram_detail {

/// Steps over many items, written once for all places: a step is a struct whose constexpr operator()(i) processes item i.
///
///     for_each_item(place, keys.size(), flag_changes{keys.data(), flags.data()});
///
/// CUDA's overload is in block_pipe.cuh. An item of a step never writes what another item of that step reads or writes.
template <class Step>
void for_each_item(cpu_place& place, std::uint64_t items, const Step& step) {
    const std::size_t pieces = pieces_for(place, items, std::size_t{1} << 16);
    for_each_piece(place, pieces, [&](std::size_t p) {
        place.ctx().check_stop();
        const auto [begin, end] = piece_of(items, pieces, p);
        for (std::uint64_t i = begin; i < end; ++i) step(i);
    });
}

/// The positions of words: those of spot s are words[s · stride] and the next left[s] - 1, word firsts[s] and following of
/// document document_of[s].
struct occurrence_table {
    const std::uint32_t* words;
    unsigned stride;
    const std::uint32_t* document_of;
    const std::uint32_t* firsts;
    const std::uint8_t* left;

    constexpr std::uint32_t word(std::uint32_t spot, unsigned after) const {
        return words[std::uint64_t{spot} * stride + after];
    }
};

/// A code for counts of occurrences in any order: the number of words left, and the number of words before the first
/// unknown one, as one number.
struct code_occurrences {
    static constexpr std::uint32_t none = max_ngram_order, codes = (max_ngram_order + 1) * (none + 1);

    occurrence_table text;
    const std::uint32_t* spots;  ///< null: the whole table
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

/// Adds, for each n, the number of these occurrences that continue to n words, and of those with an unknown word, to
/// `totals`, which are for the requested n. `spots`: null: the first `items` of the table.
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
        for (std::uint32_t left = of_n.n; left <= max_ngram_order; ++left) {
            for (std::uint32_t clean = 0; clean <= none; ++clean) {
                const std::uint64_t count = counts[left * (none + 1) + clean];
                of_n.occurrences += count;
                if (clean < none && clean < of_n.n) of_n.with_unknown += count;
            }
        }
    }
}

}  // namespace quern::ngram_detail
