// SPDX-License-Identifier: Apache-2.0
// Documents as sets of numbers (words or numbered shingles), and how rare a word is among all that occur.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "device/array.hpp"
#include "device/cpu/parallel.hpp"
#include "primitives/scan/scan.hpp"
#include "quern/ops/near_duplicates.hpp"

namespace quern::near_duplicates_detail {

/// Sets of numbers, each ascending, concatenated.
struct number_sets {
    cpu_array<std::uint32_t> values;
    cpu_array<std::uint64_t> offsets;  ///< one more than sets, the first 0

    word_list view() const {
        return {values.span().first(offsets.size() == 0 ? 0 : offsets.data()[offsets.size() - 1]),
                offsets.span()};
    }
};

/// The numbers of each list, sorted, without repeats. Cost: a segmented sort; twice the memory of the lists besides the
/// result.
number_sets sets_of(cpu_place& place, const word_list& lists);

/// The sets listed in `which`, in its order, each with those of its numbers that satisfy `keep`.
template <class Keep>
number_sets selected(cpu_place& place, const word_list& sets, std::span<const std::uint32_t> which,
                     const Keep& keep) {
    const std::size_t size = which.size(), pieces = pieces_for(place, size, 64, 64);
    auto counts = make_array<std::uint64_t>(place, size, "sets of words");
    for_each_piece(place, pieces, [&](std::size_t p) {
        place.ctx().check_stop();
        const auto [begin, end] = piece_of(size, pieces, p);
        for (std::size_t i = begin; i < end; ++i)
            counts.data()[i] = static_cast<std::uint64_t>(std::ranges::count_if(sets[which[i]], keep));
    });
    number_sets result;
    result.offsets = make_array<std::uint64_t>(place, size + 1, "sets of words");
    primitives::exclusive_scan<std::uint64_t, std::uint64_t>(place, counts.span(), result.offsets.span());
    result.values = make_array<std::uint32_t>(place, result.offsets.data()[size], "sets of words");
    for_each_piece(place, pieces, [&](std::size_t p) {
        place.ctx().check_stop();
        const auto [begin, end] = piece_of(size, pieces, p);
        for (std::size_t i = begin; i < end; ++i)
            std::ranges::copy_if(sets[which[i]], result.values.data() + result.offsets.data()[i], keep);
    });
    return result;
}

/// The number of sets that contain each number below `numbers`.
cpu_array<std::uint64_t> document_frequencies(cpu_place& place, const word_list& sets, std::uint32_t numbers);

/// The quintile of a word's idf among the V words that occur, 1 (lowest) to 5 (highest): the smallest q for which at most q
/// · V / 5 words have an idf that is not greater, hence a document frequency that is not smaller. Words with equal document
/// frequency thus share the highest quintile that one of them reaches: the rarest words are always in 5. Words that do not
/// occur: 0.
std::vector<std::uint8_t> idf_quintiles(std::span<const std::uint64_t> document_frequencies,
                                        std::uint32_t documents);

}  // namespace quern::near_duplicates_detail
