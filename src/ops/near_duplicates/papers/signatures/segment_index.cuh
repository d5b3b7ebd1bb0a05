// SPDX-License-Identifier: Apache-2.0
// For the .cu files of the signature join: candidates by segments that rows share, for joins of which comparing all rows
// takes longer. signature_segments.hpp has the rules.
#pragma once

#include <bit>
#include <cstdint>

#include "ops/near_duplicates/papers/signatures/signature_filter.cuh"
#include "ops/near_duplicates/papers/signatures/signature_segments.hpp"

namespace quern::near_duplicates_detail {

/// The length from which all strings have segments; above `bounds.length()` if none have.
inline unsigned shortest_in_segments(const signature_bounds& bounds) {
    unsigned shortest = bounds.length() + 1;
    while (shortest > 0 && segments_of(shortest - 1, bounds.at(2 * (shortest - 1))) != 0) --shortest;
    return shortest;
}

/// Grams [first, last).
struct gram_part {
    std::uint32_t first, last;
};
/// Bits of a gram's number within one of `parts`. The sort takes a pass for each 8.
constexpr unsigned bits_in_part(unsigned parts) {
    return gram_bits + 1 - static_cast<unsigned>(std::bit_width(parts));
}
constexpr unsigned part_with_gram(std::uint32_t gram, unsigned parts) {
    return gram * parts >> gram_bits;
}
/// Those that part_with_gram() assigns to a part.
constexpr gram_part part_of_grams(unsigned part, unsigned parts) {
    const auto begin = [&](std::uint32_t p) { return ((p << gram_bits) + parts - 1) / parts; };
    return {begin(part), begin(part + 1)};
}

/// What the kernels read of an index.
struct index_data {
    const std::uint8_t* segments;  ///< segments_of() each length, 0 for those that are too short
    const std::uint32_t* padded;   ///< of rows: bytes_before and bytes_after or more around, no_letter
    const window* windows;         ///< of rows; two kinds
    const std::int32_t* longest_double;
    unsigned stride;           ///< bytes of a padded string, a multiple of 16
    unsigned position_bits;    ///< a place is row << position_bits | position
    unsigned kinds;            ///< 1 if no row is old
    std::uint32_t rows_alike;  ///< of these first ones windows end the later, the later the row
};
inline constexpr unsigned bytes_before = 4, bytes_after = 8;

inline constexpr unsigned lists_of_row = 3;  ///< its grams; its even and its odd segments
/// Where the lists of groups of rows begin: of each kind as many numbers and one more.
struct list_starts {
    const std::uint64_t* of[lists_of_row];
};
struct written_lists {
    std::uint32_t* grams[lists_of_row];
    std::uint32_t* places;
    std::uint64_t* segments[2];
};
/// Rows are listed in groups of 32.
constexpr std::uint32_t row_groups(const join_data& data) {
    return data.rows / 32 + (data.rows % 32 != 0 ? 1 : 0);
}

/// Grams of rows, as the shorter of a pair, and segments of rows, as the longer. Sorted by gram, rows ascend.
struct gram_lists {
    const std::uint32_t* grams;
    const std::uint32_t* places;
    std::uint64_t count;
    const window* buckets[2];          ///< of each gram: its segments, even and odd ones
    const std::uint64_t* segments[2];  ///< (number << 24 | its three neighbours) << 32 | row
};

/// Counts what belongs in each list of each part: counts[(list · parts + part) · groups + group].
void count_groups(cuda_place& place, const join_data& data, const index_data& index, unsigned parts,
                  std::uint32_t* counts);
/// Writes what belongs in each list of a part, in order of rows.
void list_groups(cuda_place& place, const join_data& data, const index_data& index, gram_part part,
                 const list_starts& starts, const written_lists& lists);
/// Appends the pairs that share segments, of grams [first, last) of rows, to the queue; some more than once.
void match_grams(cuda_place& place, const join_data& data, const index_data& index, const gram_lists& lists,
                 std::uint64_t first, std::uint64_t last, const pair_queue& queue);
/// How many comparisons that takes: what one of `sampled` times 32 grams does, times `sampled`. Synchronises.
std::uint64_t estimated_comparisons(cuda_place& place, const join_data& data, const index_data& index,
                                    const gram_lists& lists);
inline constexpr unsigned sampled = 64;

class segment_index {
  public:
    /// What is passed outlives it. `longest_double` as for the windows. `parts`: 1 to max_gram_parts.
    segment_index(cuda_place& place, const join_data& data, const window* windows,
                  const std::int32_t* longest_double, bool has_old, const signature_bounds& bounds,
                  unsigned parts);

    /// Lists the grams of a part, unless this and comparing take longer than `budget` products of rows. Synchronises.
    bool list(unsigned part, std::uint64_t budget);
    /// Grams of rows that were listed.
    std::uint64_t size() const { return lists_.count; }
    /// Appends the pairs that share segments, of grams [first, last) of rows, to the queue; some more than once.
    void pass(std::uint64_t first, std::uint64_t last, const pair_queue& queue);

  private:
    cuda_place& place_;
    join_data data_;
    unsigned parts_;
    index_data index_{};
    cuda_array<std::uint8_t> segments_of_length_;
    cuda_array<std::uint32_t> padded_, counts_, grams_, places_;
    cuda_array<std::uint64_t> starts_, segments_[2];
    cuda_array<window> buckets_;
    gram_lists lists_{};
};

}  // namespace quern::near_duplicates_detail
