// SPDX-License-Identifier: Apache-2.0
// Pairs of rows that share a segment. Grams of all rows and first grams of segments are listed and sorted; a warp takes 32
// grams of rows, and each lane compares the letters next to its own with those next to the segments that begin with it.
#include <algorithm>
#include <bit>
#include <vector>

#include "device/cuda/portable.cuh"
#include "ops/near_duplicates/papers/signatures/segment_index.cuh"
#include "primitives/scan/scan.hpp"
#include "primitives/sort/sort.hpp"

namespace quern::near_duplicates_detail {
namespace {

constexpr unsigned threads = 256, warps = threads / 32;

// What an operation costs, in products of two rows: estimates.
constexpr std::uint64_t cost_of_gram = 300, cost_of_comparison = 30;

/// A warp per string, or per row.
__global__ __launch_bounds__(threads) void pad_strings_kernel(const std::uint8_t* letters,
                                                              const std::uint64_t* offsets,
                                                              const std::uint32_t* sources,
                                                              std::uint64_t strings, unsigned words,
                                                              std::uint32_t* padded) {
    const std::uint64_t s = std::uint64_t{blockIdx.x} * warps + threadIdx.x / 32;
    if (s >= strings) return;
    const std::uint64_t source = sources == nullptr ? s : sources[s], begin = offsets[source];
    const auto length = static_cast<unsigned>(offsets[source + 1] - begin);
    for (unsigned w = threadIdx.x % 32; w < words; w += 32) {
        std::uint32_t word = 0;
        for (unsigned b = 0; b < 4; ++b) {
            const unsigned at = 4 * w + b - bytes_before;  // wraps before the string
            word |= std::uint32_t{at < length ? letters[begin + at] : no_letter} << 8 * b;
        }
        padded[s * words + w] = word;
    }
}

/// Whether a row may be the longer of a pair that is compared in its segment: two signatures at their own block sizes are not.
__device__ bool meets_shorter(const join_data& data, const index_data& index, std::uint32_t key,
                              std::uint32_t source) {
    const unsigned segment = segment_in(key);
    if (segment == 0 || (source & 1) != 0) return true;
    const std::int32_t doubled =
        max(index.longest_double[2 * segment], index.longest_double[2 * segment + 1]);
    return doubled >= 0 && static_cast<int>(length_in(key)) <= data.longest[doubled];
}

__device__ std::uint64_t segment_entry(const segment_cut& cut, unsigned s, const std::uint8_t* letters,
                                       std::uint32_t row) {
    std::uint32_t high = s << 24;
    if (cut.is_alone(s)) {
        high |= fits_all;
    } else {
        const unsigned begin = cut.begin(s);
        for (unsigned k = 0; k < 3; ++k) {
            const unsigned at = s % 2 == 0 ? begin + gram_letters + k : begin - 1 - k;
            high |= std::uint32_t{letters[at]} << 8 * k;
        }
    }
    return std::uint64_t{high} << 32 | row;
}

/// What a row lists: its grams as the shorter of a pair, its segments as the longer.
struct listed_row {
    const std::uint8_t* letters;
    unsigned grams;
    segment_cut cut;
};

__device__ listed_row row_to_list(const join_data& data, const index_data& index, std::uint32_t row) {
    const std::uint32_t source = data.sources[row], key = data.keys[row];
    const unsigned length = length_in(key);
    bool is_shorter = false;
    for (unsigned kind = 0; kind < index.kinds; ++kind) {
        const window w = index.windows[std::size_t{kind} * data.rows + row];
        is_shorter |= w.first < w.last;
    }
    return {data.letters + data.offsets[source],
            is_shorter && length >= gram_letters ? length - gram_letters + 1 : 0,
            {length, meets_shorter(data, index, key, source) ? index.segments[length] : 0u}};
}

/// A warp per row: counts what belongs in each list of each part.
__global__ __launch_bounds__(threads) void count_grams_kernel(join_data data, index_data index,
                                                              unsigned parts, std::uint32_t* counts) {
    __shared__ std::uint32_t counted[warps][lists_of_row * max_gram_parts];
    const std::uint32_t row = blockIdx.x * warps + threadIdx.x / 32;
    if (row >= data.rows) return;
    std::uint32_t* const mine = counted[threadIdx.x / 32];
    const unsigned lane = threadIdx.x % 32;
    for (unsigned i = lane; i < lists_of_row * parts; i += 32) mine[i] = 0;
    __syncwarp();
    const listed_row listed = row_to_list(data, index, row);
    for (unsigned at = lane; at < listed.grams; at += 32)
        atomicAdd(&mine[part_with_gram(gram_of(listed.letters + at), parts)], 1u);
    for (unsigned s = lane; s < listed.cut.count; s += 32)
        atomicAdd(
            &mine[(1 + s % 2) * parts + part_with_gram(gram_of(listed.letters + listed.cut.begin(s)), parts)],
            1u);
    __syncwarp();
    for (unsigned i = lane; i < lists_of_row * parts; i += 32)
        counts[std::size_t{i} * data.rows + row] = mine[i];
}

/// A warp per row: writes what belongs in each list of a part, in order.
__global__ __launch_bounds__(threads) void list_grams_kernel(join_data data, index_data index, gram_part part,
                                                             list_starts starts, written_lists lists) {
    const std::uint32_t row = blockIdx.x * warps + threadIdx.x / 32;
    if (row >= data.rows) return;
    const unsigned lane = threadIdx.x % 32, before = (1u << lane) - 1;
    const listed_row listed = row_to_list(data, index, row);
    std::uint64_t next[lists_of_row];
#pragma unroll
    for (unsigned l = 0; l < lists_of_row; ++l) next[l] = starts.of[l][row];

    for (unsigned base = 0; base < listed.grams; base += 32) {
        const unsigned at = base + lane;
        const std::uint32_t gram = at < listed.grams ? gram_of(listed.letters + at) : 0;
        const bool mine = at < listed.grams && gram >= part.first && gram < part.last;
        const unsigned all = __ballot_sync(0xffffffffu, mine);
        if (mine) {
            const std::uint64_t to = next[0] + __popc(all & before);
            lists.grams[0][to] = gram - part.first;
            lists.places[to] = row << index.position_bits | at;
        }
        next[0] += __popc(all);
    }
    const segment_cut& cut = listed.cut;
    for (unsigned base = 0; base < cut.count; base += 32) {
        const unsigned s = base + lane;
        const std::uint32_t gram = s < cut.count ? gram_of(listed.letters + cut.begin(s)) : 0;
        const bool mine = s < cut.count && gram >= part.first && gram < part.last;
#pragma unroll
        for (unsigned odd = 0; odd < 2; ++odd) {
            const unsigned all = __ballot_sync(0xffffffffu, mine && s % 2 == odd);
            if (mine && s % 2 == odd) {
                const std::uint64_t to = next[1 + odd] + __popc(all & before);
                lists.grams[1 + odd][to] = gram - part.first;
                lists.segments[odd][to] = segment_entry(cut, s, listed.letters, row);
            }
            next[1 + odd] += __popc(all);
        }
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

/// The first of the segments [begin, end), whose rows ascend, with this row or a later one.
__device__ std::uint32_t first_of_row(const std::uint64_t* segments, std::uint32_t begin, std::uint32_t end,
                                      std::uint32_t row) {
    while (begin < end) {
        const std::uint32_t middle = begin + (end - begin) / 2;
        if (static_cast<std::uint32_t>(segments[middle]) < row)
            begin = middle + 1;
        else
            end = middle;
    }
    return begin;
}

/// Lanes with one gram read the same segments: from the first that any of them needs to the last.
__device__ window joined_in_warp(bool one_gram, window mine) {
    if (!one_gram) return mine;
    const bool some = mine.first < mine.last;
    return {cuda::min_of_warp(some ? mine.first : 0xffffffffu), cuda::max_of_warp(some ? mine.last : 0u)};
}

/// A gram of a row.
struct gram_place {
    std::uint32_t row, source;
    unsigned position;
    std::uint32_t after, before;  ///< four letters each, outwards
};

__device__ std::uint32_t word_of(const uint4& a, const uint4& b, unsigned i) {
    const uint4 v = i < 4 ? a : b;
    const std::uint32_t low = (i & 1) != 0 ? v.y : v.x, high = (i & 1) != 0 ? v.w : v.z;
    return (i & 2) != 0 ? high : low;
}

__device__ gram_place read_place(const join_data& data, const index_data& index, std::uint32_t place) {
    gram_place read{};
    read.row = place >> index.position_bits;
    read.position = place & ((1u << index.position_bits) - 1);
    read.source = data.sources[read.row];
    const auto* const chunk =
        reinterpret_cast<const uint4*>(reinterpret_cast<const std::uint8_t*>(index.padded) +
                                       std::size_t{read.source} * index.stride + read.position / 16 * 16);
    const unsigned at = read.position % 16, after = at + bytes_before + gram_letters;
    const uint4 a = chunk[0];
    uint4 b = a;
    if (after > 12) b = chunk[1];
    const auto four_at = [&](unsigned byte) {
        return __funnelshift_r(word_of(a, b, byte / 4), word_of(a, b, min(byte / 4 + 1, 7u)), byte % 4 * 8);
    };
    read.before = __byte_perm(four_at(at), 0, 0x0123);
    read.after = four_at(after);
    return read;
}

/// The rest of the rules for a gram and a segment that begins with it and has fitting neighbours.
__device__ void take_segment(const join_data& data, const index_data& index, const gram_place& x,
                             const window& partners, std::uint64_t segment, const pair_queue& queue) {
    const auto row = static_cast<std::uint32_t>(segment);
    if (row < partners.first || row >= partners.last) return;
    const std::uint32_t source = data.sources[row], key = data.keys[x.row];
    if (segment_in(key) != 0 && ((source | x.source) & 1) == 0) return;
    const unsigned length = length_in(data.keys[row]), x_length = length_in(key);
    const segment_cut cut{length, index.segments[length]};
    const unsigned s = static_cast<unsigned>(segment >> 56) & 0x7f;
    if (!may_stand(cut, s, x_length, x.position, data.largest[length + x_length])) return;
    if (is_repeat(cut, s, data.letters + data.offsets[source], data.letters + data.offsets[x.source],
                  x.position))
        return;
    append_pair(data, queue, x.row, row);
}

/// A warp per 32 grams of rows from `first` on, every `Step`th time. Adds up comparisons instead if there is no queue.
template <bool Counts>
__global__ __launch_bounds__(threads) void match_grams_kernel(join_data data, index_data index,
                                                              gram_lists lists, std::uint64_t first,
                                                              std::uint64_t last, pair_queue queue) {
    constexpr unsigned step = Counts ? sampled : 1;
    const std::uint64_t warp = (std::uint64_t{blockIdx.x} * warps + threadIdx.x / 32) * step;
    if (first + warp * 32 >= last) return;
    const std::uint64_t at = first + warp * 32 + threadIdx.x % 32;
    const bool exists = at < last;
    const std::uint32_t gram = exists ? lists.grams[at] : 0;
    gram_place x{};
    if (exists) x = read_place(data, index, lists.places[at]);
    const std::uint32_t first_gram = __shfl_sync(0xffffffffu, gram, 0);
    const bool one_gram = __all_sync(0xffffffffu, exists && gram == first_gram) != 0;
    std::uint32_t compared = 0;
    for (unsigned kind = 0; kind < index.kinds; ++kind) {
        const window partners = exists ? index.windows[std::size_t{kind} * data.rows + x.row] : window{0, 0};
#pragma unroll
        for (unsigned odd = 0; odd < 2; ++odd) {
            const std::uint64_t* const segments = lists.segments[odd];
            window mine{0, 0};
            if (partners.first < partners.last) {
                const window bucket = lists.buckets[odd][gram];
                mine.first = first_of_row(segments, bucket.first, bucket.last, partners.first);
                mine.last = first_of_row(segments, mine.first, bucket.last, partners.last);
            }
            mine = joined_in_warp(one_gram, mine);
            const std::uint32_t count = exists && mine.first < mine.last ? mine.last - mine.first : 0;
            if (Counts) {
                compared += count;
                continue;
            }
            const std::uint32_t letters = odd == 0 ? x.after : x.before;
            for (std::uint32_t i = 0; i < count; i += 4) {
                std::uint32_t fitting = 0;
#pragma unroll
                for (unsigned u = 0; u < 4; ++u) {
                    const std::uint64_t segment = segments[mine.first + min(i + u, count - 1)];
                    const std::uint32_t bits = fit_bits(static_cast<std::uint32_t>(segment >> 32), letters);
                    fitting |= (bits >> 7 & 1u) << u;
                }
                if (i + 4 > count) fitting &= (1u << (count - i)) - 1;
                for (; fitting != 0; fitting &= fitting - 1) {
                    const auto u = static_cast<unsigned>(__ffs(static_cast<int>(fitting)) - 1);
                    take_segment(data, index, x, partners, segments[mine.first + i + u], queue);
                }
            }
        }
    }
    if (Counts) {
        const auto all = cuda::reduced_in_warp(counter{compared}, [](counter a, counter b) { return a + b; });
        if (threadIdx.x % 32 == 0) atomicAdd(queue.count, all);
    }
}

cuda::launch_shape a_warp_each(std::uint64_t items) {
    return {cuda::blocks_for(items, warps), threads};
}

}  // namespace

segment_index::segment_index(cuda_place& place, const join_data& data, const window* windows,
                             const std::int32_t* longest_double, std::uint64_t strings, bool has_old,
                             const signature_bounds& bounds, unsigned parts, bool grouped)
    : place_(place), data_(data), parts_(parts), grouped_(grouped) {
    const unsigned longest = bounds.length(), shortest = shortest_in_segments(bounds);
    std::vector<std::uint8_t> segments(longest + 1);
    for (unsigned length = shortest; length <= longest; ++length)
        segments[length] = static_cast<std::uint8_t>(segments_of(length, bounds.at(2 * length)));
    segments_of_length_ = array_from(place, std::span<const std::uint8_t>(segments));
    const unsigned stride = (longest + bytes_before + bytes_after + 15) / 16 * 16;
    const std::uint64_t padded = grouped ? data.rows : strings;
    padded_ = make_array<std::uint32_t>(place, padded * (stride / 4), "letters of signatures");
    QUERN_LAUNCH(place, a_warp_each(padded), pad_strings_kernel, data.letters, data.offsets,
                 grouped ? data.sources : nullptr, padded, stride / 4, padded_.data());
    const std::size_t listed = grouped ? row_groups(data) : data.rows;
    counts_ = make_array<std::uint32_t>(place, lists_of_row * parts * listed, "grams of signatures");
    starts_ = make_array<std::uint64_t>(place, lists_of_row * (listed + 1), "grams of signatures");
    buckets_ = make_array<window>(place, std::size_t{2} << bits_in_part(parts), "grams of signatures");
    index_ = {segments_of_length_.data(),
              padded_.data(),
              windows,
              longest_double,
              stride,
              static_cast<unsigned>(std::bit_width(longest)),
              has_old ? 2u : 1u,
              has_old ? 0 : data.rows / 3};
    if (grouped)
        count_groups(place, data_, index_, parts, counts_.data());
    else
        QUERN_LAUNCH(place, a_warp_each(data.rows), count_grams_kernel, data_, index_, parts, counts_.data());
}

bool segment_index::list(unsigned part, std::uint64_t budget) {
    lists_ = {};
    for (auto* const array : {&grams_, &places_}) *array = {};
    for (auto& array : segments_) array = {};
    list_starts starts{};
    std::uint64_t totals[lists_of_row];
    const std::size_t counts = grouped_ ? row_groups(data_) : data_.rows;
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
    if (grouped_)
        list_groups(place_, data_, index_, part_of_grams(part, parts_), starts, lists);
    else
        QUERN_LAUNCH(place_, a_warp_each(data_.rows), list_grams_kernel, data_, index_,
                     part_of_grams(part, parts_), starts, lists);
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
    return listed * cost_of_gram + comparisons() * cost_of_comparison <= budget;
}

std::uint64_t segment_index::comparisons() {
    if (grouped_) return estimated_comparisons(place_, data_, index_, lists_);
    const auto compared = make_array<counter>(place_, 1, "a counter");
    place_.fill_bytes(compared.data(), 0, sizeof(counter));
    QUERN_LAUNCH(place_, a_warp_each((lists_.count + 32 * sampled - 1) / (32 * sampled)),
                 match_grams_kernel<true>, data_, index_, lists_, 0, lists_.count,
                 pair_queue{nullptr, compared.data(), 0});
    counter sum = 0;
    place_.copy_out(&sum, compared.data(), sizeof sum);
    return sum * sampled;
}

void segment_index::pass(std::uint64_t first, std::uint64_t last, const pair_queue& queue) {
    if (grouped_) return match_grams(place_, data_, index_, lists_, first, last, queue);
    QUERN_LAUNCH(place_, a_warp_each((last - first + 31) / 32), match_grams_kernel<false>, data_, index_,
                 lists_, first, last, queue);
}

}  // namespace quern::near_duplicates_detail
