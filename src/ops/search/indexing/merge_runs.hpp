// SPDX-License-Identifier: Apache-2.0
// Joins sorted runs into posting lists. Runs are consecutive chunks of the collection, so a word's postings are those of
// its runs, concatenated; only the words need merging.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ops/search/indexing/inverted_run.hpp"

namespace quern::search_detail {

/// Words from `first` (included) to `last` (excluded; empty: to the end).
struct word_range {
    std::string first;
    std::optional<std::string> last;
};

/// Splits the words of all runs into at most `parts` consecutive ranges with about equal numbers of entries; together they
/// cover all words. Cost: a sort of the runs' restarts.
std::vector<word_range> split_words(std::span<const sorted_run> runs, std::size_t parts);

/// The words of a range that one run contains, by their ranks in the range.
struct words_of_run {
    std::uint32_t first = 0, next = 0;  ///< the first, and one past the last; equal: none
    std::string gaps;                   ///< of each but the first: rank - previous rank - 1, as varints
};

/// The index of one range: word i is words[word_ends[i-1], word_ends[i]); the same holds for its bytes in `postings`.
struct merged_range {
    std::string words;
    std::vector<std::uint64_t> word_ends;
    std::string postings;
    std::vector<std::uint64_t> posting_ends;
    std::vector<std::uint32_t> document_frequencies;
    std::vector<std::uint64_t> collection_frequencies;
    std::vector<words_of_run> runs;
};

/// Merges one range; different threads may merge ranges at the same time. `first_document[i]` is the number of the first
/// document of run i; `document_lengths` are those of the collection, in words (see postings_writer). `buffer_bytes` is
/// used once per run on disk. Cost: log2(runs) comparisons per entry, one pass over its postings.
merged_range merge_runs(std::span<const sorted_run> runs, std::span<const std::uint32_t> first_document,
                        std::span<const std::uint32_t> document_lengths, const word_range& range,
                        std::size_t buffer_bytes);

}  // namespace quern::search_detail
