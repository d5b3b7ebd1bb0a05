// SPDX-License-Identifier: Apache-2.0
#include "ops/near_duplicates/papers/words/word_sets.hpp"

#include <algorithm>

#include "ops/near_duplicates/papers/words/duplicate_classes.hpp"
#include "primitives/histogram/histogram.hpp"
#include "primitives/scan/scan.hpp"
#include "primitives/sort/sort.hpp"

namespace quern::near_duplicates_detail {

number_sets sets_of(cpu_place& place, const word_list& lists) {
    number_sets sets;
    if (lists.offsets.empty()) return sets;
    const std::uint64_t skipped = lists.offsets.front();
    auto sorted =
        array_from(place, lists.words.subspan(skipped, lists.offsets.back() - skipped), "sets of words");
    auto begins = array_from(place, lists.offsets, "sets of words");
    for (std::uint64_t& begin : begins.span()) begin -= skipped;
    primitives::segmented_sort_keys<std::uint32_t>(place, sorted.span(), begins.span());

    auto sizes = make_array<std::uint64_t>(place, lists.size(), "sets of words");
    const std::size_t pieces = document_pieces(place, begins.span());
    for_each_document(place, begins.span(), pieces, [&](std::size_t, std::uint32_t d) {
        const auto list = sorted.span().subspan(begins.data()[d], begins.data()[d + 1] - begins.data()[d]);
        sizes.data()[d] = static_cast<std::uint64_t>(std::unique(list.begin(), list.end()) - list.begin());
    });
    sets.offsets = make_array<std::uint64_t>(place, begins.size(), "sets of words");
    primitives::exclusive_scan<std::uint64_t, std::uint64_t>(place, sizes.span(), sets.offsets.span());
    sets.values = make_array<std::uint32_t>(place, sets.offsets.data()[lists.size()], "sets of words");
    for_each_document(place, begins.span(), pieces, [&](std::size_t, std::uint32_t d) {
        std::copy_n(sorted.data() + begins.data()[d], sizes.data()[d],
                    sets.values.data() + sets.offsets.data()[d]);
    });
    return sets;
}

cpu_array<std::uint64_t> document_frequencies(cpu_place& place, const word_list& sets,
                                              std::uint32_t numbers) {
    auto frequencies = make_array<std::uint64_t>(place, numbers, "document frequencies");
    primitives::histogram<std::uint32_t>(place, sets.words, frequencies.span());
    return frequencies;
}

std::vector<std::uint8_t> idf_quintiles(std::span<const std::uint64_t> document_frequencies,
                                        std::uint32_t documents) {
    // at_least[f]: the number of words in f documents or more.
    std::vector<std::uint64_t> at_least(documents + std::size_t{2});
    for (const std::uint64_t f : document_frequencies) ++at_least[f];
    for (std::size_t f = documents; f-- > 0;) at_least[f] += at_least[f + 1];
    const std::uint64_t occurring = at_least[1];
    std::vector<std::uint8_t> quintiles(document_frequencies.size());
    for (std::size_t w = 0; w < quintiles.size(); ++w) {
        const std::uint64_t f = document_frequencies[w];
        if (f != 0) quintiles[w] = static_cast<std::uint8_t>((5 * at_least[f] + occurring - 1) / occurring);
    }
    return quintiles;
}

}  // namespace quern::near_duplicates_detail
