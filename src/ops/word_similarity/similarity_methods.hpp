// SPDX-License-Identifier: Apache-2.0
// The named methods of the similarity stage, called by the entry point (similar_words.cpp): options are checked, the matrix
// has only the kept columns, its rows are in fixed point (fixed_rows.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "device/cpu/cpu_place.hpp"
#include "device/cuda/cuda_place.hpp"
#include "ops/word_similarity/exact/fixed_rows.hpp"
#include "quern/base/choose_device.hpp"
#include "quern/ops/word_similarity.hpp"

namespace quern {
class place_set;
}

namespace quern::word_similarity_detail {

// Shared by the entry points of the similarity stage.

/// The matrix checked, restricted to the kept columns, in fixed point.
owned_rows kept_rows(cpu_place& place, const context_matrix_view& matrix, const similarity_options& options);

/// Some of all pairs of words, for work that is shared: each pair belongs to one of `parts` shares in each direction.
struct pair_share {
    std::uint64_t part = 0, parts = 1;
    bool has(std::uint64_t piece_of_work) const { return piece_of_work % parts == part; }
};

/// Whether only the method `automatic` has the measure, and computes all pairs.
constexpr bool is_further_measure(similarity_measure measure) {
    return measure > similarity_measure::cosine;
}

/// Whether find_automatically() excludes pairs by bounds; else it adds up all of them.
bool is_bounded(const fixed_rows& rows, const similarity_options& options);

// On the CPU, lists are passed on to `sink` unless it is null (quern/ops/word_similarity.hpp).

neighbour_lists find_automatically(cpu_place& place, const fixed_rows& rows,
                                   const similarity_options& options, const neighbour_sink* sink = nullptr);
neighbour_lists find_automatically(cuda_place& place, const fixed_rows& rows,
                                   const similarity_options& options);
neighbour_lists find_by_further_measure(cpu_place& place, const fixed_rows& rows,
                                        const similarity_options& options, const neighbour_sink* sink);
neighbour_lists find_by_further_measure(cuda_place& place, const fixed_rows& rows,
                                        const similarity_options& options);
neighbour_lists find_compressed(cpu_place& place, const fixed_rows& rows, const similarity_options& options,
                                const neighbour_sink* sink = nullptr);
neighbour_lists find_compressed(cuda_place& place, const fixed_rows& rows, const similarity_options& options);
neighbour_lists find_column_reduced(cpu_place& place, const fixed_rows& rows,
                                    const similarity_options& options, const neighbour_sink* sink = nullptr);
neighbour_lists find_column_reduced(cuda_place& place, const fixed_rows& rows,
                                    const similarity_options& options);

// The method `automatic` by ranges of words, for several places.

/// A matrix on a place. The matrix and the place outlive it.
class range_search {
  public:
    range_search() = default;
    range_search(const range_search&) = delete;  // arrays of the place
    range_search& operator=(const range_search&) = delete;
    virtual ~range_search() = default;
    /// The neighbours of these words among all; offsets begin with 0. Those of a range do not depend on other ranges.
    virtual neighbour_lists find(word_range words) = 0;
};
/// Two words and one entry at least. On the CPU from all sums: slower than find_automatically(), for tests without a GPU.
std::unique_ptr<range_search> open_range_search(cpu_place& place, const fixed_rows& rows,
                                                const similarity_options& options);
std::unique_ptr<range_search> open_range_search(cuda_place& place, const fixed_rows& rows,
                                                const similarity_options& options);
/// For other measures than lin and cosine.
std::unique_ptr<range_search> open_further_search(cuda_place& place, const fixed_rows& rows,
                                                  const similarity_options& options);

/// All words in ranges for so many places: each a share of what is left, down to a smallest size.
std::vector<word_range> shares_of_words(const fixed_rows& rows, std::size_t places);

/// The neighbours of all words. Each place has the whole matrix and takes one range of words after another.
neighbour_lists find_on_several(place_set& places, const fixed_rows& rows, const similarity_options& options,
                                const neighbour_sink* sink = nullptr);

/// similar_words() on these places, even if the matrix is small. Another method than `automatic` uses the first of them.
neighbour_lists similar_words_on(const chosen_device& chosen, const context_matrix_view& matrix,
                                 const similarity_options& options, const context& ctx,
                                 const neighbour_sink* sink = nullptr);

}  // namespace quern::word_similarity_detail
