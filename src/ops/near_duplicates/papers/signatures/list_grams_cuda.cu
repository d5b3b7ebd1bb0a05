// SPDX-License-Identifier: Apache-2.0
// The grams and segments of rows as lists, in the order of the rows. A warp takes 32 rows: each lane reads what is known of one
// of them, then all list one row after another.
#include "device/cuda/portable.cuh"
#include "ops/near_duplicates/papers/signatures/segment_index.cuh"

namespace quern::near_duplicates_detail {
namespace {

constexpr unsigned threads = 256, warps = threads / 32;
constexpr unsigned all_lanes = 0xffffffffu;

/// What a row lists: its grams as the shorter of a pair, its segments as the longer.
struct listed_row {
    unsigned grams;
    segment_cut cut;
};

/// Whether a row may be the longer of a pair that is compared in its segment: two signatures at their own block sizes are not.
__device__ bool meets_shorter(const join_data& data, const index_data& index, std::uint32_t key,
                              std::uint32_t source) {
    const unsigned segment = segment_in(key);
    if (segment == 0 || (source & 1) != 0) return true;
    const std::int32_t doubled =
        max(index.longest_double[2 * segment], index.longest_double[2 * segment + 1]);
    return doubled >= 0 && static_cast<int>(length_in(key)) <= data.longest[doubled];
}

__device__ listed_row row_to_list(const join_data& data, const index_data& index, std::uint32_t row) {
    if (row >= data.rows) return {0, {1, 0}};
    const std::uint32_t key = data.keys[row];
    const unsigned length = length_in(key);
    bool is_shorter = false;
    for (unsigned kind = 0; kind < index.kinds; ++kind) {
        const window w = index.windows[std::size_t{kind} * data.rows + row];
        is_shorter |= w.first < w.last;
    }
    return {is_shorter && length >= gram_letters ? length - gram_letters + 1 : 0,
            {length, meets_shorter(data, index, key, data.sources[row]) ? index.segments[length] : 0u}};
}

__device__ listed_row row_of_lane(const listed_row& mine, unsigned lane) {
    return {__shfl_sync(all_lanes, mine.grams, static_cast<int>(lane)),
            {__shfl_sync(all_lanes, mine.cut.length, static_cast<int>(lane)),
             __shfl_sync(all_lanes, mine.cut.count, static_cast<int>(lane))}};
}

__device__ const std::uint8_t* letters_of(const index_data& index, std::uint32_t row) {
    return reinterpret_cast<const std::uint8_t*>(index.padded) + std::size_t{row} * index.stride +
           bytes_before;
}

__device__ std::uint64_t segment_entry(const segment_cut& cut, unsigned s, const std::uint8_t* segment,
                                       std::uint32_t row) {
    std::uint32_t high = s << 24;
    if (cut.is_alone(s)) {
        high |= fits_all;
    } else {
        for (int k = 0; k < 3; ++k)
            high |= std::uint32_t{segment[s % 2 == 0 ? static_cast<int>(gram_letters) + k : -1 - k]} << 8 * k;
    }
    return std::uint64_t{high} << 32 | row;
}

/// counts[(list · parts + part) · groups + group], of groups of 32 rows: what belongs in each list of each part. Grams are
/// only looked at if there is more than one part.
__global__ __launch_bounds__(threads) void count_groups_kernel(join_data data, index_data index,
                                                               unsigned parts, std::uint32_t groups,
                                                               std::uint32_t* counts) {
    __shared__ std::uint32_t counted[warps][lists_of_row * max_gram_parts];
    const std::uint32_t group = blockIdx.x * warps + threadIdx.x / 32;
    if (group >= groups) return;
    std::uint32_t* const sums = counted[threadIdx.x / 32];
    const unsigned lane = threadIdx.x % 32;
    for (unsigned i = lane; i < lists_of_row * parts; i += 32) sums[i] = 0;
    __syncwarp();
    const listed_row mine = row_to_list(data, index, 32 * group + lane);
    if (parts == 1) {
        atomicAdd(&sums[0], mine.grams);
        atomicAdd(&sums[1], (mine.cut.count + 1) / 2);
        atomicAdd(&sums[2], mine.cut.count / 2);
    } else {
        for (unsigned r = 0; r < 32; ++r) {
            const listed_row listed = row_of_lane(mine, r);
            const std::uint8_t* const letters = letters_of(index, 32 * group + r);
            for (unsigned at = lane; at < listed.grams; at += 32)
                atomicAdd(&sums[part_with_gram(gram_of(letters + at), parts)], 1u);
            for (unsigned s = lane; s < listed.cut.count; s += 32)
                atomicAdd(&sums[(1 + s % 2) * parts +
                                part_with_gram(gram_of(letters + listed.cut.begin(s)), parts)],
                          1u);
        }
    }
    __syncwarp();
    for (unsigned i = lane; i < lists_of_row * parts; i += 32)
        counts[std::size_t{i} * groups + group] = sums[i];
}

/// Where the lists of a warp go on.
struct list_ends {
    std::uint64_t of[lists_of_row];
};

__device__ void list_grams_of(const listed_row& listed, const std::uint8_t* letters, std::uint32_t place,
                              gram_part part, const written_lists& lists, list_ends& ends) {
    const unsigned lane = threadIdx.x % 32, before = (1u << lane) - 1;
    for (unsigned base = 0; base < listed.grams; base += 32) {
        const unsigned at = base + lane;
        const std::uint32_t gram = at < listed.grams ? gram_of(letters + at) : 0;
        const bool mine = at < listed.grams && gram >= part.first && gram < part.last;
        const unsigned all = __ballot_sync(all_lanes, mine);
        if (mine) {
            const std::uint64_t to = ends.of[0] + __popc(all & before);
            lists.grams[0][to] = gram - part.first;
            lists.places[to] = place | at;
        }
        ends.of[0] += __popc(all);
    }
}

__device__ void list_segments_of(const segment_cut& cut, const std::uint8_t* letters, std::uint32_t row,
                                 gram_part part, const written_lists& lists, list_ends& ends) {
    const unsigned lane = threadIdx.x % 32, before = (1u << lane) - 1;
    constexpr unsigned even = 0x55555555u;
    for (unsigned base = 0; base < cut.count; base += 32) {
        const unsigned s = base + lane;
        const std::uint8_t* const segment = letters + (s < cut.count ? cut.begin(s) : 0);
        const std::uint32_t gram = s < cut.count ? gram_of(segment) : 0;
        const bool mine = s < cut.count && gram >= part.first && gram < part.last;
        const unsigned all = __ballot_sync(all_lanes, mine), alike = lane % 2 == 0 ? all & even : all & ~even;
        if (mine) {
            const std::uint64_t to = (lane % 2 == 0 ? ends.of[1] : ends.of[2]) + __popc(alike & before);
            (lane % 2 == 0 ? lists.grams[1] : lists.grams[2])[to] = gram - part.first;
            (lane % 2 == 0 ? lists.segments[0] : lists.segments[1])[to] = segment_entry(cut, s, segment, row);
        }
        ends.of[1] += __popc(all & even);
        ends.of[2] += __popc(all & ~even);
    }
}

/// A warp per group of rows: writes what belongs in each list of a part, in order.
__global__ __launch_bounds__(threads) void list_groups_kernel(join_data data, index_data index,
                                                              gram_part part, std::uint32_t groups,
                                                              list_starts starts, written_lists lists) {
    const std::uint32_t group = blockIdx.x * warps + threadIdx.x / 32;
    if (group >= groups) return;
    const listed_row mine = row_to_list(data, index, 32 * group + threadIdx.x % 32);
    list_ends ends{};
#pragma unroll
    for (unsigned l = 0; l < lists_of_row; ++l) ends.of[l] = starts.of[l][group];
    for (unsigned r = 0; r < 32; ++r) {
        const listed_row listed = row_of_lane(mine, r);
        const std::uint32_t row = 32 * group + r;
        const std::uint8_t* const letters = letters_of(index, row);
        list_grams_of(listed, letters, row << index.position_bits, part, lists, ends);
        list_segments_of(listed.cut, letters, row, part, lists, ends);
    }
}

}  // namespace

void count_groups(cuda_place& place, const join_data& data, const index_data& index, unsigned parts,
                  std::uint32_t* counts) {
    const std::uint32_t groups = row_groups(data);
    QUERN_LAUNCH(place, (cuda::launch_shape{cuda::blocks_for(groups, warps), threads}), count_groups_kernel,
                 data, index, parts, groups, counts);
}

void list_groups(cuda_place& place, const join_data& data, const index_data& index, gram_part part,
                 const list_starts& starts, const written_lists& lists) {
    const std::uint32_t groups = row_groups(data);
    QUERN_LAUNCH(place, (cuda::launch_shape{cuda::blocks_for(groups, warps), threads}), list_groups_kernel,
                 data, index, part, groups, starts, lists);
}

}  // namespace quern::near_duplicates_detail
