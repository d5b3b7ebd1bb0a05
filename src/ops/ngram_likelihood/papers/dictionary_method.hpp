// SPDX-License-Identifier: Apache-2.0
// The method of DEIM 2018 over the ids of a dictionary (PPD), one implementation for all places.
//
// Sorting is prefix doubling (Karp, Miller and Rosenberg 1972; Manber and Myers 1993). Positions sorted by their first p
// words have ranks; sorted, among equal ones, by the rank of the position k ≤ p words later, they are sorted by p + k
// words. The printed algorithm forgets the cuts of earlier rounds; here a range stays cut.
#pragma once

#include <algorithm>

#include "ops/ngram_likelihood/papers/sorted_counting.hpp"

namespace quern::ngram_detail {

/// Sorts positions 0, 1, … by their first `order` words, up to the ends of their documents; equal ones keep their order.
template <class Place>
void sort_by_doubling(Place& place, span_on<Place, const std::uint32_t> words, unsigned order,
                      span_on<Place, const std::uint8_t> left, span_on<Place, std::uint32_t> positions) {
    const std::size_t size = words.size();
    const auto make = [&]<class T>(T, std::size_t count) {
        return make_array<T>(place, count, "sorting n-grams");
    };
    auto keys = make(std::uint32_t{}, size);
    for_each_item(place, size, gather<std::uint32_t>{words.data(), positions.data(), keys.data()});
    primitives::sort_pairs(place, keys.span(), positions);
    auto flags = make(std::uint8_t{}, size);
    for_each_item(place, size, fill<std::uint8_t>{flags.data(), 0});
    auto sums = make(std::uint64_t{}, size);
    auto ranks = make(std::uint32_t{}, size);
    auto offsets = make(std::uint64_t{}, size + 1);
    for (unsigned sorted = 1, after = 1; sorted < order;
         sorted += after, after = std::min(2 * after, order - sorted)) {
        for_each_item(place, size, flag_changes{keys.data(), flags.data()});
        primitives::inclusive_scan<std::uint8_t, std::uint64_t>(place, flags.span(), sums.span());
        for_each_item(place, size, scatter_ranks{sums.data(), positions.data(), ranks.data()});
        for_each_item(place, size,
                      ranks_after{positions.data(), left.data(), after, ranks.data(), keys.data()});
        const std::size_t count =
            primitives::compact_positions<std::uint64_t>(place, flags.span(), offsets.span().first(size));
        const std::uint64_t end = size;
        copy_in<std::uint64_t>(place, std::span(&end, 1), offsets.span().subspan(count, 1));
        primitives::segmented_sort_pairs<std::uint32_t, std::uint32_t>(place, keys.span(), positions,
                                                                       offsets.span().first(count + 1));
    }
}

template <class Place>
std::vector<ngram_totals> by_dictionary(Place& place, span_on<Place, const std::uint32_t> words,
                                        std::uint32_t vocabulary, std::span<const std::uint64_t> documents,
                                        const ngram_options& options,
                                        const std::function<void(const ngram_rows&)>& sink) {
    sorted_counting<Place> counting(place, words.size(), documents, options);
    if (words.size() != 0)
        sort_by_doubling<Place>(place, words, options.order, counting.left(), counting.positions());
    auto totals = counting.count(words_by_id{words.data()}, sink);
    count_occurrences(place, counting.table(words.data()), nullptr, words.size(), vocabulary, totals);
    return totals;
}

}  // namespace quern::ngram_detail
