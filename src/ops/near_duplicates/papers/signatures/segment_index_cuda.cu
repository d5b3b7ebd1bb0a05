// SPDX-License-Identifier: Apache-2.0
// Pairs of rows that share a segment: grams of all rows and first grams of segments are listed and sorted, in as many parts as
// memory demands, and compared (list_grams_cuda.cu, match_grams_cuda.cu).
#include <algorithm>
#include <bit>
#include <vector>

#include "ops/near_duplicates/papers/signatures/segment_index.cuh"
#include "primitives/scan/scan.hpp"
#include "primitives/sort/sort.hpp"

namespace quern::near_duplicates_detail {
namespace {

constexpr unsigned threads = 256, warps = threads / 32;

// What an operation costs, in products of two rows: measured on an H200, 300,000 and 1,000,000 signatures.
constexpr std::uint64_t cost_of_gram = 400, cost_of_comparison = 5;

/// A warp per row.
__global__ __launch_bounds__(threads) void pad_rows_kernel(join_data data, unsigned words,
                                                           std::uint32_t* padded) {
    const std::uint32_t row = blockIdx.x * warps + threadIdx.x / 32;
    if (row >= data.rows) return;
    const std::uint32_t source = data.sources[row];
    const std::uint64_t begin = data.offsets[source];
    const auto length = static_cast<unsigned>(data.offsets[source + 1] - begin);
    for (unsigned w = threadIdx.x % 32; w < words; w += 32) {
        std::uint32_t word = 0;
        for (unsigned b = 0; b < 4; ++b) {
            const unsigned at = 4 * w + b - bytes_before;  // wraps before the string
            word |= std::uint32_t{at < length ? data.letters[begin + at] : no_letter} << 8 * b;
        }
        padded[std::size_t{row} * words + w] = word;
    }
}

/// A thread per sorted segment; buckets are zeros before.
__global__ __launch_bounds__(threads) void find_buckets_kernel(const std::uint32_t* grams,
                                                               std::uint32_t count, window* buckets) {
    const std::uint32_t i = blockIdx.x * threads + threadIdx.x;
    if (i >= count) return;
    const std::uint32_t gram = grams[i];
    if (i == 0 || grams[i - 1] != gram) buckets[gram].first = i;
    if (i + 1 == count || grams[i + 1] != gram) buckets[gram].last = i + 1;
}

cuda::launch_shape a_warp_each(std::uint64_t items) {
    return {cuda::blocks_for(items, warps), threads};
}

}  // namespace

segment_index::segment_index(cuda_place& place, const join_data& data, const window* windows,
                             const std::int32_t* longest_double, bool has_old, const signature_bounds& bounds,
                             unsigned parts)
    : place_(place), data_(data), parts_(parts) {
    const unsigned longest = bounds.length(), shortest = shortest_in_segments(bounds);
    std::vector<std::uint8_t> segments(longest + 1);
    for (unsigned length = shortest; length <= longest; ++length)
        segments[length] = static_cast<std::uint8_t>(segments_of(length, bounds.at(2 * length)));
    segments_of_length_ = array_from(place, std::span<const std::uint8_t>(segments));
    const unsigned stride = (longest + bytes_before + bytes_after + 15) / 16 * 16;
    padded_ =
        make_array<std::uint32_t>(place, std::size_t{data.rows} * (stride / 4), "letters of signatures");
    QUERN_LAUNCH(place, a_warp_each(data.rows), pad_rows_kernel, data, stride / 4, padded_.data());
    const std::size_t groups = row_groups(data);
    counts_ = make_array<std::uint32_t>(place, lists_of_row * parts * groups, "grams of signatures");
    starts_ = make_array<std::uint64_t>(place, lists_of_row * (groups + 1), "grams of signatures");
    buckets_ = make_array<window>(place, std::size_t{2} << bits_in_part(parts), "grams of signatures");
    index_ = {segments_of_length_.data(),
              padded_.data(),
              windows,
              longest_double,
              stride,
              static_cast<unsigned>(std::bit_width(longest)),
              has_old ? 2u : 1u,
              has_old ? 0 : data.rows / 3};
    count_groups(place, data_, index_, parts, counts_.data());
}

bool segment_index::list(unsigned part, std::uint64_t budget) {
    lists_ = {};
    for (auto* const array : {&grams_, &places_}) *array = {};
    for (auto& array : segments_) array = {};
    list_starts starts{};
    std::uint64_t totals[lists_of_row];
    const std::size_t counts = row_groups(data_);
    for (unsigned l = 0; l < lists_of_row; ++l) {
        const auto of_list = starts_.span().subspan(l * (counts + 1), counts + 1);
        primitives::exclusive_scan<std::uint32_t, std::uint64_t>(
            place_, counts_.span().subspan((l * parts_ + part) * counts, counts), of_list);
        starts.of[l] = of_list.data();
    }
    for (unsigned l = 0; l < lists_of_row; ++l)
        place_.copy_out(&totals[l], starts.of[l] + counts, sizeof totals[l]);
    const std::uint64_t listed = totals[0] + totals[1] + totals[2];
    if (listed * cost_of_gram > budget || std::max(totals[1], totals[2]) >= 0x7fffffffu) return false;
    if (20 * listed + 4 * totals[0] > place_.memory().left()) return false;

    written_lists lists{};
    cuda_array<std::uint32_t> of_segments[2];
    grams_ = make_array<std::uint32_t>(place_, totals[0], "grams of signatures");
    places_ = make_array<std::uint32_t>(place_, totals[0], "grams of signatures");
    lists.grams[0] = grams_.data();
    lists.places = places_.data();
    for (unsigned odd = 0; odd < 2; ++odd) {
        of_segments[odd] = make_array<std::uint32_t>(place_, totals[1 + odd], "segments of signatures");
        segments_[odd] = make_array<std::uint64_t>(place_, totals[1 + odd], "segments of signatures");
        lists.grams[1 + odd] = of_segments[odd].data();
        lists.segments[odd] = segments_[odd].data();
    }
    list_groups(place_, data_, index_, part_of_grams(part, parts_), starts, lists);
    const primitives::sort_options by_gram{primitives::order::ascending, bits_in_part(parts_)};
    primitives::sort_pairs(place_, grams_.span(), places_.span(), by_gram);
    place_.fill_bytes(buckets_.data(), 0, buckets_.span().size_bytes());
    for (unsigned odd = 0; odd < 2; ++odd) {
        primitives::sort_pairs(place_, of_segments[odd].span(), segments_[odd].span(), by_gram);
        window* const buckets = buckets_.data() + (std::size_t{odd} << bits_in_part(parts_));
        const auto count = static_cast<std::uint32_t>(totals[1 + odd]);
        QUERN_LAUNCH(place_, (cuda::launch_shape{cuda::blocks_for(count, threads), threads}),
                     find_buckets_kernel, of_segments[odd].data(), count, buckets);
        lists_.buckets[odd] = buckets;
        lists_.segments[odd] = segments_[odd].data();
    }
    lists_.grams = grams_.data();
    lists_.places = places_.data();
    lists_.count = totals[0];
    return listed * cost_of_gram +
               estimated_comparisons(place_, data_, index_, lists_) * cost_of_comparison <=
           budget;
}

void segment_index::pass(std::uint64_t first, std::uint64_t last, const pair_queue& queue) {
    match_grams(place_, data_, index_, lists_, first, last, queue);
}

}  // namespace quern::near_duplicates_detail
