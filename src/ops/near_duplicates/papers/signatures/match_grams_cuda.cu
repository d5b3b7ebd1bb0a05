// SPDX-License-Identifier: Apache-2.0
// Compares the letters next to grams of rows with those next to the segments that begin with them. A warp takes 32 grams at a
// time. Those of one value meet the same segments: the warp marks the pairs of letters next to them in shared memory, looks up
// those of 32 segments at once, and compares the few segments that have one with each gram. What fits is kept until 32 pairs can
// be looked at together: they lie far apart in memory, and one alone would delay the warp.
#include "device/cuda/portable.cuh"
#include "ops/near_duplicates/papers/signatures/segment_index.cuh"

namespace quern::near_duplicates_detail {
namespace {

constexpr unsigned threads = 256, warps = threads / 32;
constexpr unsigned all_lanes = 0xffffffffu;
/// A warp takes so many times 32 grams: what fits of fewer does not make 32.
constexpr unsigned turns_of_warp = 16;
/// More segments of a gram than this are searched for the first to compare.
constexpr std::uint32_t few_segments = 128;
constexpr unsigned kept_fits = 64;
constexpr std::uint32_t odd_bit = std::uint32_t{1} << 31;

struct permuted_bytes {
    __device__ std::uint32_t operator()(std::uint32_t word, std::uint32_t order) const {
        return __byte_perm(word, 0, order);
    }
};

/// The letters next to a gram, four each, outwards.
struct gram_neighbours {
    std::uint32_t after, before;
};

__device__ gram_neighbours read_neighbours(const index_data& index, std::uint32_t row, unsigned position) {
    const auto* const chunk =
        reinterpret_cast<const uint4*>(reinterpret_cast<const std::uint8_t*>(index.padded) +
                                       std::size_t{row} * index.stride + position / 16 * 16);
    const unsigned at = position % 16, bytes = at % 4;
    const uint4 a = chunk[0];
    uint4 b{};
    if (at + bytes_before + gram_letters + 4 > 16) b = chunk[1];
    const bool two = (at & 8) != 0, one = (at & 4) != 0;
    const std::uint32_t s0 = two ? a.z : a.x, s1 = two ? a.w : a.y, s2 = two ? b.x : a.z,
                        s3 = two ? b.y : a.w, s4 = two ? b.z : b.x;
    const std::uint32_t w0 = one ? s1 : s0, w1 = one ? s2 : s1, w2 = one ? s3 : s2, w3 = one ? s4 : s3;
    // `before` begins at byte `bytes` of these words, `after` seven bytes later.
    const bool whole = bytes == 0;
    return {__funnelshift_r(whole ? w1 : w2, whole ? w2 : w3, 8 * (bytes + 3)),
            __byte_perm(__funnelshift_r(w0, w1, 8 * bytes), 0, 0x0123)};
}

/// The first of the segments [begin, end), whose rows ascend, with this row or a later one. All lanes ask for the same.
__device__ std::uint32_t first_of_row(const std::uint64_t* segments, std::uint32_t begin, std::uint32_t end,
                                      std::uint32_t row) {
    const unsigned lane = threadIdx.x % 32;
    while (end - begin > 32) {
        const std::uint32_t step = (end - begin) / 32;
        const bool is_before = static_cast<std::uint32_t>(segments[begin + (lane + 1) * step - 1]) < row;
        const auto steps = static_cast<std::uint32_t>(__popc(__ballot_sync(all_lanes, is_before)));
        begin += steps * step;
        if (steps < 32) end = begin + step - 1;
    }
    const std::uint32_t at = begin + lane;
    const bool is_before = at < end && static_cast<std::uint32_t>(segments[at]) < row;
    return begin + static_cast<std::uint32_t>(__popc(__ballot_sync(all_lanes, is_before)));
}

/// What fits, of one warp: places of grams and numbers of segments, with odd_bit.
struct fit_list {
    std::uint32_t *places, *segments;
    unsigned count = 0;
};

/// The rest of the rules for a gram and a segment that begins with it and has fitting neighbours.
__device__ void take_segment(const join_data& data, const index_data& index, const window* windows,
                             std::uint32_t place, std::uint64_t segment, const pair_queue& queue) {
    const std::uint32_t x = place >> index.position_bits,
                        position = place & ((1u << index.position_bits) - 1);
    const auto y = static_cast<std::uint32_t>(segment);
    const window partners = windows[x];
    if (y < partners.first || y >= partners.last) return;
    const std::uint32_t x_source = data.sources[x], source = data.sources[y], key = data.keys[x];
    if (segment_in(key) != 0 && ((source | x_source) & 1) == 0) return;
    const unsigned length = length_in(data.keys[y]), x_length = length_in(key);
    const segment_cut cut{length, index.segments[length]};
    const unsigned s = static_cast<unsigned>(segment >> 56) & 0x7f;
    if (!may_stand(cut, s, x_length, position, data.largest[length + x_length])) return;
    if (is_repeat(cut, s, data.letters + data.offsets[source], data.letters + data.offsets[x_source],
                  position))
        return;
    append_pair(data, queue, x, y);
}

/// Looks at the last 32 that fit, or at all if there are fewer.
__device__ void take_fits(const join_data& data, const index_data& index, const gram_lists& lists,
                          const window* windows, const pair_queue& queue, fit_list& fits) {
    __syncwarp();
    const unsigned lane = threadIdx.x % 32, taken = min(fits.count, 32u);
    fits.count -= taken;
    if (lane < taken) {
        const std::uint32_t segment = fits.segments[fits.count + lane];
        const std::uint64_t* const of = (segment & odd_bit) != 0 ? lists.segments[1] : lists.segments[0];
        take_segment(data, index, windows, fits.places[fits.count + lane], of[segment & ~odd_bit], queue);
    }
    __syncwarp();
}

/// A group of lanes with one gram: their union of windows.
__device__ window window_of_group(const join_data& data, const index_data& index, const window* windows,
                                  std::uint32_t row, std::uint32_t gram_lanes) {
    const int first = __ffs(static_cast<int>(gram_lanes)) - 1,
              last = 31 - __clz(static_cast<int>(gram_lanes));
    const std::uint32_t first_row = __shfl_sync(all_lanes, row, first),
                        last_row = __shfl_sync(all_lanes, row, last);
    if (last_row < index.rows_alike) return {windows[first_row].first, windows[last_row].last};
    const bool mine = (gram_lanes >> threadIdx.x % 32 & 1) != 0;
    const window w = mine ? windows[row] : window{0, 0};
    const bool some = w.first < w.last;
    return {cuda::min_of_warp(some ? w.first : 0xffffffffu), cuda::max_of_warp(some ? w.last : 0u)};
}

/// Of a warp: the pairs of letters that a segment must have one of to fit some gram, as fits() compares them.
struct pair_marks {
    std::uint32_t *last_two, *first_two, *first_and_last;  ///< letter_pairs bits each

    __device__ explicit pair_marks(std::uint32_t* words)
        : last_two(words),
          first_two(words + letter_pairs / 32),
          first_and_last(words + 2 * (letter_pairs / 32)) {}

    static __device__ void mark(std::uint32_t* bits, unsigned pair) {
        atomicOr(bits + pair / 32, 1u << pair % 32);
    }
    static __device__ std::uint32_t has(const std::uint32_t* bits, unsigned pair) {
        return bits[pair / 32] >> pair % 32 & 1u;
    }

    /// Marks those of some lanes alone.
    __device__ void set(bool is_of_group, std::uint32_t four) const {
        __syncwarp();
        auto* const all = reinterpret_cast<uint4*>(last_two);
#pragma unroll
        for (unsigned i = 0; i < 3 * letter_pairs / 128; i += 32) all[threadIdx.x % 32 + i] = uint4{};
        __syncwarp();
        if (is_of_group) {
            const unsigned nearest = letter_pair(four, 0, 1);
            mark(last_two, nearest);
            mark(last_two, letter_pair(four, 1, 2));
            mark(last_two, letter_pair(four, 2, 3));
            mark(first_two, nearest);
            mark(first_and_last, nearest);
            mark(first_and_last, letter_pair(four, 0, 2));
        }
        __syncwarp();
    }
    __device__ bool has_some(std::uint32_t three) const {
        return (has(last_two, letter_pair(three, 1, 2)) | has(first_two, letter_pair(three, 0, 1)) |
                has(first_and_last, letter_pair(three, 0, 2))) != 0;
    }
};

/// Keeps the place of a lane's gram and the number of a segment where they fit.
template <class Take>
__device__ void keep_fits(bool fit, std::uint32_t place, std::uint32_t segment, fit_list& fits,
                          const Take& take) {
    const unsigned all = __ballot_sync(all_lanes, fit);
    if (all == 0) return;
    if (fit) {
        const unsigned before = (1u << threadIdx.x % 32) - 1,
                       to = fits.count + static_cast<unsigned>(__popc(all & before));
        fits.places[to] = place;
        fits.segments[to] = segment;
    }
    fits.count += static_cast<unsigned>(__popc(all));
    if (fits.count > kept_fits - 32) take();
}

/// What a group of lanes with one gram compares with the segments of a parity.
struct gram_group {
    bool is_of_group;  ///< this lane
    unsigned lanes;
    std::uint32_t place, letters;
    window wanted;
};

/// The segments [begin, end) of a gram. Counts: returns the comparisons instead.
template <bool Counts, class Take>
__device__ counter compare_segments(const std::uint64_t* segments, window bucket, std::uint32_t parity_bit,
                                    const gram_group& x, const pair_marks& marks, fit_list& fits,
                                    const Take& take) {
    const unsigned lane = threadIdx.x % 32;
    counter compared = 0;
    bool marked = false;
    for (std::uint32_t s = bucket.first; s < bucket.last; s += 32) {
        const bool exists = s + lane < bucket.last;
        const std::uint64_t segment = exists ? segments[s + lane] : ~std::uint64_t{0};
        const auto y = static_cast<std::uint32_t>(segment);
        const bool is_wanted = y >= x.wanted.first && y < x.wanted.last;
        const unsigned wanted = __ballot_sync(all_lanes, is_wanted),
                       later = __ballot_sync(all_lanes, y >= x.wanted.last);
        if (Counts) {
            compared += static_cast<unsigned>(__popc(wanted) * __popc(x.lanes));
        } else if (wanted != 0) {
            if (!marked) marks.set(x.is_of_group, x.letters);
            marked = true;
            const auto three = static_cast<std::uint32_t>(segment >> 32);
            const bool may_fit = is_wanted && ((three & fits_all) != 0 || marks.has_some(three));
            for (unsigned rest = __ballot_sync(all_lanes, may_fit); rest != 0; rest &= rest - 1) {
                const int i = __ffs(static_cast<int>(rest)) - 1;
                const std::uint32_t of_segment = __shfl_sync(all_lanes, three, i);
                const bool fit =
                    x.is_of_group && near_duplicates_detail::fits<permuted_bytes>(of_segment, x.letters);
                keep_fits(fit, x.place, (s + static_cast<unsigned>(i)) | parity_bit, fits, take);
            }
        }
        if (later != 0) break;
    }
    return compared;
}

/// A warp per 32 · turns_of_warp grams of rows from `first` on, for windows of one kind. Shared memory: 2 KiB a warp.
/// Counts: every sampled-th 32 grams instead, and the comparisons are added up.
template <bool Counts>
__global__ __launch_bounds__(threads) void match_grams_kernel(join_data data, index_data index,
                                                              gram_lists lists, const window* windows,
                                                              std::uint64_t first, std::uint64_t last,
                                                              pair_queue queue) {
    __shared__ __align__(16) std::uint32_t marked[Counts ? 1 : warps][3 * letter_pairs / 32];
    __shared__ std::uint32_t kept[Counts ? 1 : warps][2][kept_fits];
    const unsigned lane = threadIdx.x % 32;
    constexpr std::uint64_t turns = Counts ? 1 : turns_of_warp, apart = Counts ? sampled : turns_of_warp;
    const std::uint64_t begin = first + (std::uint64_t{blockIdx.x} * warps + threadIdx.x / 32) * apart * 32;
    const std::uint64_t end = min(last, begin + turns * 32);
    const unsigned of_warp = Counts ? 0 : threadIdx.x / 32;
    const pair_marks marks(marked[of_warp]);
    fit_list fits{kept[of_warp][0], kept[of_warp][1]};
    const auto take = [&] { take_fits(data, index, lists, windows, queue, fits); };
    counter compared = 0;
    for (std::uint64_t base = begin; base < end; base += 32) {
        const std::uint64_t at = base + lane;
        const bool exists = at < end;
        const std::uint32_t gram = exists ? lists.grams[at] : 0, place = exists ? lists.places[at] : 0;
        const std::uint32_t row = place >> index.position_bits;
        gram_neighbours letters{};
        if (!Counts && exists)
            letters = read_neighbours(index, row, place & ((1u << index.position_bits) - 1));
        for (unsigned rest = __ballot_sync(all_lanes, exists); rest != 0;) {
            const std::uint32_t group_gram = __shfl_sync(all_lanes, gram, __ffs(static_cast<int>(rest)) - 1);
            const bool is_of_group = exists && gram == group_gram;
            const unsigned group = __ballot_sync(all_lanes, is_of_group);
            rest &= ~group;
            const window wanted = window_of_group(data, index, windows, row, group);
            if (wanted.first >= wanted.last) continue;
#pragma unroll
            for (unsigned odd = 0; odd < 2; ++odd) {
                const std::uint64_t* const segments = lists.segments[odd];
                window bucket = lists.buckets[odd][group_gram];
                if (bucket.last - bucket.first > few_segments) {
                    bucket.first = first_of_row(segments, bucket.first, bucket.last, wanted.first);
                    bucket.last = first_of_row(segments, bucket.first, bucket.last, wanted.last);
                }
                if (Counts && bucket.last - bucket.first > few_segments) {  // all are wanted
                    compared +=
                        std::uint64_t{bucket.last - bucket.first} * static_cast<unsigned>(__popc(group));
                    continue;
                }
                const gram_group x{is_of_group, group, place, odd == 0 ? letters.after : letters.before,
                                   wanted};
                compared +=
                    compare_segments<Counts>(segments, bucket, odd == 0 ? 0 : odd_bit, x, marks, fits, take);
            }
        }
    }
    if (!Counts)
        while (fits.count != 0) take();
    else if (lane == 0 && compared != 0)
        atomicAdd(queue.count, compared);
}

cuda::launch_shape warps_for(std::uint64_t grams, std::uint64_t of_warp) {
    return {cuda::blocks_for((grams + of_warp - 1) / of_warp, warps), threads};
}

}  // namespace

void match_grams(cuda_place& place, const join_data& data, const index_data& index, const gram_lists& lists,
                 std::uint64_t first, std::uint64_t last, const pair_queue& queue) {
    for (unsigned kind = 0; kind < index.kinds; ++kind)
        QUERN_LAUNCH(place, warps_for(last - first, 32 * turns_of_warp), match_grams_kernel<false>, data,
                     index, lists, index.windows + std::size_t{kind} * data.rows, first, last, queue);
}

std::uint64_t estimated_comparisons(cuda_place& place, const join_data& data, const index_data& index,
                                    const gram_lists& lists) {
    const auto compared = make_array<counter>(place, 1, "a counter");
    place.fill_bytes(compared.data(), 0, sizeof(counter));
    for (unsigned kind = 0; kind < index.kinds; ++kind)
        QUERN_LAUNCH(place, warps_for(lists.count, 32 * sampled), match_grams_kernel<true>, data, index,
                     lists, index.windows + std::size_t{kind} * data.rows, 0, lists.count,
                     pair_queue{nullptr, compared.data(), 0});
    counter sum = 0;
    place.copy_out(&sum, compared.data(), sizeof sum);
    return sum * sampled;
}

}  // namespace quern::near_duplicates_detail
