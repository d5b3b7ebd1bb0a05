// SPDX-License-Identifier: Apache-2.0
// Counts that the statistics of a store and the report of a build share.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tasks/store/document_duplicates.hpp"
#include "tasks/store/opened_store.hpp"

namespace quern {

/// Numbers of lengths by their binary digits: of 0, of 1, of 2 to 3, of 4 to 7 … up to the longest; empty without lengths.
std::vector<std::uint64_t> counts_by_doubling(std::span<const std::uint32_t> lengths);
/// The first length that counts_by_doubling counts at `position`.
constexpr std::uint64_t length_from(std::size_t position) {
    return position == 0 ? 0 : std::uint64_t{1} << (position - 1);
}

/// The ids of the stop words of the store's language, as stop_words_in finds them. `occurrences`: of each word.
std::vector<std::uint32_t> stop_words_of(const opened_store& store,
                                         std::span<const std::uint64_t> occurrences);

struct duplicate_group {
    std::uint32_t document = 0;  ///< the one that the build kept
    std::uint32_t count = 0;     ///< its near-duplicates
};
/// In the order of the documents. Cost: a pass over all near-duplicates.
std::vector<duplicate_group> groups_of(const document_duplicates& duplicates);

}  // namespace quern
