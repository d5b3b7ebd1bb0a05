// SPDX-License-Identifier: Apache-2.0
// The method `signature` on CUDA. The rows of signature_join.hpp are sorted on the device, each row's partners are a
// window of them; groups of rows times tiles of their windows are the blocks of one launch, which counts differing
// bits: a code of 256 bits in registers, the other broadcast from shared memory, three adders of whole words before
// the slower counting. What passes goes through a queue to the bit-parallel distance, a thread a pair. Appending is
// in any order; the sort behind it makes one.
#include <algorithm>
#include <bit>

#include "device/cuda/check.cuh"
#include "ops/near_duplicates/signature_join.hpp"
#include "ops/near_duplicates/signature_join_bits.hpp"
#include "ops/near_duplicates/thesis_kernels.hpp"
#include "primitives/scan/scan.hpp"
#include "primitives/sort/sort.hpp"

namespace quern::near_duplicates_detail {
namespace {

using counter = unsigned long long;

// A row's sort key: segment, old or new, length. Lengths are below 2^10.
constexpr unsigned key_bits = 17;
constexpr std::uint32_t key_of(unsigned segment, bool is_new, unsigned length) {
    return (segment * 2 + (is_new ? 1 : 0)) << 10 | length;
}
constexpr unsigned length_in(std::uint32_t key) {
    return key & 1023;
}
constexpr bool is_new_in(std::uint32_t key) {
    return (key >> 10 & 1) != 0;
}
constexpr unsigned segment_in(std::uint32_t key) {
    return key >> 11;
}

/// Rows [first, last).
struct window {
    std::uint32_t first, last;
};

/// The strings of two signatures that may be near.
struct source_pair {
    std::uint32_t a, b;
};

/// What the kernels read, all in device memory.
struct join_data {
    const std::uint8_t* letters;
    const std::uint64_t* offsets;
    const std::int32_t* largest;  ///< signature_bounds::largest
    const std::int32_t* longest;  ///< signature_bounds::longest
    const std::uint32_t* keys;    ///< of the sorted rows
    const std::uint32_t* sources;
    std::uint32_t rows;
};

constexpr unsigned filter_threads = 128;
constexpr unsigned tile_columns = 512;
/// Rows that a block of the filter has in registers: two a thread where codes are short.
constexpr unsigned group_rows(unsigned levels) {
    return levels == 4 ? 2 * filter_threads : filter_threads;
}

/// A thread a text: its three rows.
__global__ void write_rows_kernel(const std::uint64_t* offsets, const std::uint8_t* levels,
                                  std::uint32_t texts, std::uint32_t first_new, std::uint32_t* keys,
                                  std::uint32_t* sources) {
    const std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= texts) return;
    const std::uint64_t begin = offsets[2 * i], middle = offsets[2 * i + 1], end = offsets[2 * i + 2];
    const auto length = static_cast<unsigned>(middle - begin),
               at_double = static_cast<unsigned>(end - middle);
    const unsigned level = levels[i];
    const bool is_new = i >= first_new;
    keys[3 * i] = key_of(0, is_new, length);
    keys[3 * i + 1] = key_of(level + 1, is_new, length);
    keys[3 * i + 2] = key_of(level + 2, is_new, at_double);
    sources[3 * i] = sources[3 * i + 1] = 2 * i;
    sources[3 * i + 2] = 2 * i + 1;
}

/// A thread a row: its code, in registers until it is complete.
template <unsigned Levels>
__global__ void write_codes_kernel(join_data data, std::uint64_t* codes) {
    const std::uint32_t row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= data.rows) return;
    std::uint64_t code[Levels] = {};
    const std::uint32_t source = data.sources[row];
    for (std::uint64_t i = data.offsets[source]; i < data.offsets[source + 1]; ++i) {
        std::uint64_t bit = std::uint64_t{1} << data.letters[i];
#pragma unroll
        for (unsigned n = 0; n < Levels; ++n) {  // the first plane that has it not yet takes it
            const std::uint64_t carried = code[n] & bit;
            code[n] |= bit;
            bit = carried;
        }
    }
#pragma unroll
    for (unsigned n = 0; n < Levels; ++n) codes[std::size_t{n} * data.rows + row] = code[n];
}

/// The first row whose key is not below `key`.
__device__ std::uint32_t first_not_below(const join_data& data, std::uint32_t key) {
    std::uint32_t begin = 0, end = data.rows;
    while (begin < end) {
        const std::uint32_t middle = begin + (end - begin) / 2;
        if (data.keys[middle] < key)
            begin = middle + 1;
        else
            end = middle;
    }
    return begin;
}

/// Kind 0: rows of its own list behind it. Kind 1: new rows for an old one and old rows for a new one, longer or, for
/// one of the two, as long. Every two rows that may be compared stand in one window of one of them, the longer or
/// later one.
__device__ window window_of(const join_data& data, std::uint32_t row, unsigned kind, bool within_new) {
    const std::uint32_t key = data.keys[row];
    const unsigned segment = segment_in(key), length = length_in(key);
    const bool is_new = is_new_in(key);
    const int longest = data.longest[length];
    if (longest < 0) return {0, 0};
    if (kind == 0) {
        if (!is_new || !within_new) return {0, 0};
        return {row + 1, first_not_below(data, key_of(segment, true, static_cast<unsigned>(longest)) + 1)};
    }
    return {first_not_below(data, key_of(segment, !is_new, length) + (is_new ? 0 : 1)),
            first_not_below(data, key_of(segment, !is_new, static_cast<unsigned>(longest)) + 1)};
}

/// A block a group of rows, a thread a row: both windows of each, what the windows of the group span, in how many
/// tiles; and the pairs in the windows of segment 0. windows[kind · rows + row], spans and tiles [2 · group + kind].
__global__ void find_windows_kernel(join_data data, bool within_new, window* windows, window* spans,
                                    std::uint32_t* tiles, counter* compared) {
    __shared__ std::uint32_t first[2], last[2];
    __shared__ counter pairs;
    if (threadIdx.x < 2) {
        first[threadIdx.x] = 0xffffffff;
        last[threadIdx.x] = 0;
    }
    if (threadIdx.x == 0) pairs = 0;
    __syncthreads();
    const std::uint32_t row = blockIdx.x * blockDim.x + threadIdx.x;
    for (unsigned kind = 0; kind < 2 && row < data.rows; ++kind) {
        const window w = window_of(data, row, kind, within_new);
        windows[std::size_t{kind} * data.rows + row] = w;
        if (w.first >= w.last) continue;
        atomicMin(&first[kind], w.first);
        atomicMax(&last[kind], w.last);
        if (segment_in(data.keys[row]) == 0) atomicAdd(&pairs, static_cast<counter>(w.last - w.first));
    }
    __syncthreads();
    if (threadIdx.x < 2) {
        const window span{first[threadIdx.x], last[threadIdx.x]};
        spans[2 * blockIdx.x + threadIdx.x] = span;
        tiles[2 * blockIdx.x + threadIdx.x] =
            span.first < span.last ? (span.last - span.first + tile_columns - 1) / tile_columns : 0;
    }
    if (threadIdx.x == 0 && pairs != 0) atomicAdd(compared, pairs);
}

/// Bits set in eight words: three adders leave five words to count.
__device__ unsigned bits_of(const std::uint32_t (&x)[8]) {
    const auto sum = [](std::uint32_t a, std::uint32_t b, std::uint32_t c) { return a ^ b ^ c; };
    const auto carry = [](std::uint32_t a, std::uint32_t b, std::uint32_t c) {
        return (a & b) | (c & (a | b));
    };
    const std::uint32_t s1 = sum(x[0], x[1], x[2]), c1 = carry(x[0], x[1], x[2]);
    const std::uint32_t s2 = sum(x[3], x[4], x[5]), c2 = carry(x[3], x[4], x[5]);
    const std::uint32_t s3 = sum(s1, s2, x[6]), c3 = carry(s1, s2, x[6]);
    return static_cast<unsigned>(__popc(s3) + __popc(x[7]) + 2 * (__popc(c1) + __popc(c2) + __popc(c3)));
}

/// The tiles of all groups, numbered: group g, kind k has those from starts[2 g + k] on.
struct tile_list {
    const window* windows;
    const window* spans;
    const std::uint64_t* starts;
    std::uint32_t spans_count;
};

/// What passed; `count` goes on beyond `capacity`, where the rest is lost.
struct pair_queue {
    source_pair* pairs;
    counter* count;
    counter capacity;
};

/// Limits of the filter as sums of one number for each of the two rows, in 1/65536 bits: own[length] of the shorter
/// and other[length] of the longer row. Never below the limit itself.
struct filter_limits {
    const std::int32_t* own;
    const std::int32_t* other;
};

/// A block a tile: a group of rows, in registers, with up to 512 rows of their windows, which all threads read from
/// shared memory at once (16 KiB of codes, 2 KiB of limits). 128 threads of some 50 registers: ten blocks fit a
/// multiprocessor, so that one's loads hide behind another's counting.
template <unsigned Quads>  // planes of a code, in fours
__global__ __launch_bounds__(filter_threads) void filter_rows_kernel(join_data data,
                                                                     const std::uint64_t* codes,
                                                                     tile_list tiles,
                                                                     std::uint64_t first_tile,
                                                                     filter_limits limits, pair_queue queue) {
    constexpr unsigned levels = 4 * Quads, own_rows = group_rows(levels) / filter_threads;
    constexpr unsigned staged_rows = tile_columns / Quads;
    __shared__ uint4 staged[staged_rows * 2 * Quads];
    __shared__ std::int32_t staged_limits[staged_rows];

    const std::uint64_t tile = first_tile + blockIdx.x;
    std::uint32_t span = 0;  // the last one whose tiles begin at or before this
    for (std::uint32_t end = tiles.spans_count; end - span > 1;) {
        const std::uint32_t middle = span + (end - span) / 2;
        if (tiles.starts[middle] <= tile)
            span = middle;
        else
            end = middle;
    }
    const window whole = tiles.spans[span];
    const auto begin = static_cast<std::uint32_t>(whole.first + (tile - tiles.starts[span]) * tile_columns);
    const std::uint32_t end = min(begin + tile_columns, whole.last);

    std::uint32_t code[own_rows][8 * Quads], row[own_rows];
    window mine[own_rows];
    std::int32_t limit[own_rows];
    bool meets = false;
#pragma unroll
    for (unsigned o = 0; o < own_rows; ++o) {
        row[o] = span / 2 * group_rows(levels) + o * filter_threads + threadIdx.x;
        const bool exists = row[o] < data.rows;
        mine[o] = exists ? tiles.windows[std::size_t{span % 2} * data.rows + row[o]] : window{0, 0};
        meets |= mine[o].first < min(end, mine[o].last) && mine[o].last > begin;
        limit[o] = exists ? limits.own[length_in(data.keys[row[o]])] : -(1 << 30);  // nothing is within that
#pragma unroll
        for (unsigned n = 0; n < levels; ++n) {
            const std::uint64_t word = exists ? codes[std::size_t{n} * data.rows + row[o]] : 0;
            code[o][2 * n] = static_cast<std::uint32_t>(word);
            code[o][2 * n + 1] = static_cast<std::uint32_t>(word >> 32);
        }
    }
    if (__syncthreads_or(meets ? 1 : 0) == 0)
        return;  // a group of several lists spans what lies between them

    for (std::uint32_t at = begin; at < end; at += staged_rows) {
        const std::uint32_t count = min(staged_rows, end - at);
        __syncthreads();
        auto* const words = reinterpret_cast<std::uint64_t*>(staged);
#pragma unroll
        for (unsigned n = 0; n < levels; ++n)
            for (std::uint32_t r = threadIdx.x; r < count; r += filter_threads)
                words[r * levels + n] = codes[std::size_t{n} * data.rows + at + r];
        for (std::uint32_t r = threadIdx.x; r < count; r += filter_threads)
            staged_limits[r] = limits.other[length_in(data.keys[at + r])];
        __syncthreads();
        for (std::uint32_t r = 0; r < count; ++r) {
            unsigned differing[own_rows] = {};
#pragma unroll
            for (unsigned q = 0; q < Quads; ++q) {
                const uint4 low = staged[(r * Quads + q) * 2], high = staged[(r * Quads + q) * 2 + 1];
                const std::uint32_t other[8] = {low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w};
#pragma unroll
                for (unsigned o = 0; o < own_rows; ++o) {
                    std::uint32_t x[8];
#pragma unroll
                    for (unsigned i = 0; i < 8; ++i) x[i] = code[o][8 * q + i] ^ other[i];
                    differing[o] += bits_of(x);
                }
            }
#pragma unroll
            for (unsigned o = 0; o < own_rows; ++o) {
                if (static_cast<std::int32_t>(differing[o] << 16) - staged_limits[r] > limit[o]) continue;
                const std::uint32_t other = at + r;
                if (other < mine[o].first || other >= mine[o].last) continue;
                const source_pair pair{data.sources[row[o]], data.sources[other]};
                // Two signatures at their own block sizes have met in segment 0.
                if (segment_in(data.keys[row[o]]) != 0 && ((pair.a | pair.b) & 1) == 0) continue;
                const counter slot = atomicAdd(queue.count, counter{1});
                if (slot < queue.capacity) queue.pairs[slot] = pair;
            }
        }
    }
}

/// Where a pattern has which letter: by the six bits of its letters, so that it stays in registers.
template <unsigned Words>
struct letter_planes {
    std::uint64_t planes[6][Words];
    constexpr std::uint64_t operator()(std::uint8_t letter, unsigned word) const {
        std::uint64_t differs = 0;
        for (unsigned b = 0; b < 6; ++b)
            differs |= planes[b][word] ^ (std::uint64_t{0} - (letter >> b & std::uint64_t{1}));
        return ~differs;
    }
};

/// A thread a pair of the queue, then the next one a whole grid further: appends (a << 32 | b) of the candidates.
template <unsigned Words>
__global__ void measure_pairs_kernel(join_data data, pair_queue queue, std::uint64_t* found,
                                     counter* found_count) {
    const counter count = min(*queue.count, queue.capacity);
    for (counter p = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; p < count;
         p += std::uint64_t{gridDim.x} * blockDim.x) {
        source_pair pair = queue.pairs[p];
        std::uint64_t begin_a = data.offsets[pair.a], begin_b = data.offsets[pair.b];
        auto length_a = static_cast<unsigned>(data.offsets[pair.a + 1] - begin_a),
             length_b = static_cast<unsigned>(data.offsets[pair.b + 1] - begin_b);
        if (length_a > length_b) {  // the shorter one is the pattern
            std::uint64_t begin = begin_a;
            begin_a = begin_b;
            begin_b = begin;
            const unsigned length = length_a;
            length_a = length_b;
            length_b = length;
        }
        const int bound = data.largest[length_a + length_b];
        int distance = static_cast<int>(length_b);
        if (length_a != 0) {
            letter_planes<Words> pattern;
#pragma unroll
            for (unsigned w = 0; w < Words; ++w) {
#pragma unroll
                for (unsigned b = 0; b < 6; ++b) pattern.planes[b][w] = 0;
                const unsigned end = min(length_a, 64 * (w + 1));
                for (unsigned i = 64 * w; i < end; ++i) {
                    const std::uint64_t letter = data.letters[begin_a + i];
#pragma unroll
                    for (unsigned b = 0; b < 6; ++b)
                        pattern.planes[b][w] |= (letter >> b & 1) << (i - 64 * w);
                }
            }
            distance = bit_distance<Words>(pattern, length_a, data.letters + begin_b, length_b, bound);
        }
        if (distance > bound) continue;
        const std::uint64_t a = min(pair.a, pair.b) / 2, b = max(pair.a, pair.b) / 2;
        found[atomicAdd(found_count, counter{1})] = a << 32 | b;
    }
}

constexpr unsigned threads = 256;

cuda::launch_shape one_thread_each(std::uint64_t items) {
    return {cuda::blocks_for(items, threads), threads};
}

template <unsigned Levels>
void write_codes(cuda_place& place, const join_data& data, std::uint64_t* codes) {
    QUERN_LAUNCH(place, one_thread_each(data.rows), write_codes_kernel<Levels>, data, codes);
}

/// One join: the rows, their windows and tiles, and the queue that its launches share.
class device_join {
  public:
    device_join(cuda_place& place, const device_signatures& signatures, const signature_bounds& bounds,
                const duplicate_scope& scope)
        : place_(place),
          texts_(static_cast<std::uint32_t>(signatures.levels.size())),
          levels_(code_levels(bounds.length())),
          longest_length_(bounds.length()) {
        const std::uint32_t rows = 3 * texts_;
        keys_ = make_array<std::uint32_t>(place, rows, "the rows of the signatures");
        sources_ = make_array<std::uint32_t>(place, rows, "the rows of the signatures");
        make_tables(bounds);
        data_.letters = signatures.letters.data();
        data_.offsets = signatures.offsets.data();
        data_.keys = keys_.data();
        data_.sources = sources_.data();
        data_.rows = rows;
        QUERN_LAUNCH(place, one_thread_each(texts_), write_rows_kernel, signatures.offsets.data(),
                     signatures.levels.data(), texts_, scope.first_new, keys_.data(), sources_.data());
        primitives::sort_pairs(place, keys_.span(), sources_.span(),
                               {primitives::order::ascending, key_bits});
        make_codes();
        make_tiles(scope.within_new);

        constexpr std::uint64_t one_tile = std::uint64_t{2} * filter_threads * tile_columns;
        capacity_ = std::clamp(place.memory().left() / 64, one_tile, std::uint64_t{1} << 22);
        queue_ = make_array<source_pair>(place, capacity_, "pairs of signatures that may be near");
        found_ = make_array<std::uint64_t>(place, capacity_, "pairs of signatures that are near");
        counters_ = make_array<counter>(place, 3, "counters");
    }

    std::vector<candidate> run(duplicate_counts& counts) {
        counts.compared += compared_;
        std::vector<candidate> all;
        std::uint64_t most = std::uint64_t{1} << 20;  // tiles of a launch: a fraction of a second
        for (std::uint64_t tile = 0; tile < tile_count_;) {
            place_.run().check_stop();
            const std::uint64_t count = std::min(most, tile_count_ - tile);
            if (!join_tiles(tile, count, all)) {  // one tile always fits
                most = count / 2;
                continue;
            }
            tile += count;
            most = std::min(2 * most, std::uint64_t{1} << 20);
        }
        sort_candidates(all);
        counts.candidates += all.size();
        return all;
    }

  private:
    void make_codes() {
        codes_ = make_array<std::uint64_t>(place_, std::size_t{levels_} * data_.rows,
                                           "the codes of the signatures");
        switch (levels_) {
            case 4:
                return write_codes<4>(place_, data_, codes_.data());
            case 8:
                return write_codes<8>(place_, data_, codes_.data());
            case 16:
                return write_codes<16>(place_, data_, codes_.data());
            default:
                return write_codes<32>(place_, data_, codes_.data());
        }
    }

    // Bits that differ, and the difference of the lengths x <= y, are below 2 p (x + y) for p = slack · threshold:
    // bits < (2 p + 1) x + (2 p − 1) y. Rounded up, and by one more for the doubles. From p = 1 on all pass.
    void make_tables(const signature_bounds& bounds) {
        const double p = std::min(1.0, bounds.rate());
        std::vector<std::int32_t> all;
        for (const double factor : {2 * p + 1, 2 * p - 1})
            for (unsigned length = 0; length <= longest_length_; ++length)
                all.push_back(static_cast<std::int32_t>(factor * length * 65536) + 2);
        all.insert(all.end(), bounds.longest().begin(), bounds.longest().end());
        all.insert(all.end(), bounds.largest().begin(), bounds.largest().end());
        tables_ = array_from(place_, std::span<const std::int32_t>(all));  // one small copy instead of four
        const std::size_t lengths = longest_length_ + 1;
        limits_ = {tables_.data(), tables_.data() + lengths};
        data_.longest = tables_.data() + 2 * lengths;
        data_.largest = tables_.data() + 3 * lengths;
    }

    void make_tiles(bool within_new) {
        const unsigned group = group_rows(levels_);
        const unsigned groups = cuda::blocks_for(data_.rows, group);
        windows_ = make_array<window>(place_, 2 * std::size_t{data_.rows}, "windows of rows");
        spans_ = make_array<window>(place_, 2 * std::size_t{groups}, "windows of rows");
        starts_ = make_array<std::uint64_t>(place_, 2 * std::size_t{groups} + 1, "tiles of rows");
        const auto tiles = make_array<std::uint32_t>(place_, 2 * std::size_t{groups}, "tiles of rows");
        const auto compared = make_array<counter>(place_, 1, "a counter");
        place_.fill_bytes(compared.data(), 0, sizeof(counter));
        QUERN_LAUNCH(place_, (cuda::launch_shape{groups, group}), find_windows_kernel, data_, within_new,
                     windows_.data(), spans_.data(), tiles.data(), compared.data());
        primitives::exclusive_scan<std::uint32_t, std::uint64_t>(place_, tiles.span(), starts_.span());
        place_.copy_out(&compared_, compared.data(), sizeof compared_);
        place_.copy_out(&tile_count_, starts_.data() + 2 * std::size_t{groups}, sizeof tile_count_);
    }

    /// False where more passed the filter than the queue holds: nothing was taken then.
    bool join_tiles(std::uint64_t first, std::uint64_t count, std::vector<candidate>& all) {
        place_.fill_bytes(counters_.data(), 0, counters_.span().size_bytes());
        const pair_queue queue{queue_.data(), counters_.data(), capacity_};
        switch (levels_) {
            case 4:
                filter<1>(first, count, queue);
                break;
            case 8:
                filter<2>(first, count, queue);
                break;
            case 16:
                filter<4>(first, count, queue);
                break;
            default:
                filter<8>(first, count, queue);
        }
        if (longest_length_ <= 128)
            measure<2>(queue);
        else if (longest_length_ <= 256)
            measure<4>(queue);
        else
            measure<16>(queue);
        counter passed_and_found[2];
        place_.copy_out(passed_and_found, counters_.data(), sizeof passed_and_found);
        if (passed_and_found[0] > capacity_) return false;
        const auto found = found_.span().first(passed_and_found[1]);
        if (found.empty()) return true;
        primitives::sort_keys(place_, found, {primitives::order::ascending, 32u + std::bit_width(texts_)});
        for (const std::uint64_t pair : to_host(place_, found))
            all.push_back({static_cast<std::uint32_t>(pair >> 32), static_cast<std::uint32_t>(pair)});
        return true;
    }

    template <unsigned Quads>
    void filter(std::uint64_t first, std::uint64_t count, const pair_queue& queue) {
        const tile_list tiles{windows_.data(), spans_.data(), starts_.data(),
                              static_cast<std::uint32_t>(spans_.size())};
        QUERN_LAUNCH(place_, (cuda::launch_shape{static_cast<unsigned>(count), filter_threads}),
                     filter_rows_kernel<Quads>, data_, codes_.data(), tiles, first, limits_, queue);
    }

    template <unsigned Words>
    void measure(const pair_queue& queue) {
        QUERN_LAUNCH(place_, (cuda::launch_shape{place_.multiprocessors() * 16, 128}),
                     measure_pairs_kernel<Words>, data_, queue, found_.data(), counters_.data() + 1);
    }

    cuda_place& place_;
    std::uint32_t texts_;
    unsigned levels_, longest_length_;
    cuda_array<std::uint32_t> keys_, sources_;
    cuda_array<std::int32_t> tables_;
    cuda_array<std::uint64_t> codes_, starts_, found_;
    cuda_array<window> windows_, spans_;
    cuda_array<source_pair> queue_;
    cuda_array<counter> counters_;
    join_data data_{};
    filter_limits limits_{};
    std::uint64_t compared_ = 0, tile_count_ = 0, capacity_ = 0;
};

}  // namespace

std::vector<candidate> join_signatures(cuda_place& place, const device_signatures& signatures,
                                       const signature_bounds& bounds, const duplicate_scope& scope,
                                       duplicate_counts& counts) {
    check_texts(signatures.levels.size());
    if (signatures.levels.empty()) return {};
    return device_join(place, signatures, bounds, scope).run(counts);
}

template <>
std::vector<candidate> signature_candidates(cuda_place& place, const text_list& texts,
                                            const duplicate_options& options, const duplicate_scope& scope,
                                            duplicate_counts& counts) {
    cpu_place host(place.run());
    const signature_list signatures(host, texts, options.signature_length);
    const signature_bounds bounds(options.slack, options.threshold, options.signature_length);
    const signature_view view = signatures.view();
    const auto letters = array_from(place, view.letters, "the letters of the signatures");
    const auto offsets = array_from(place, view.offsets, "the offsets of the signatures");
    const auto levels = array_from(place, view.levels, "the block sizes of the signatures");
    const device_signatures there{letters.span(), offsets.span(), levels.span()};
    switch (options.method) {
        case duplicate_method::shared_memory:
            return thesis_candidates(place, {thesis_kernel::rows_in_shared}, view, there, bounds, scope,
                                     counts);
        case duplicate_method::global_memory:
            return thesis_candidates(place, {thesis_kernel::rows_in_global}, view, there, bounds, scope,
                                     counts);
        default:
            return join_signatures(place, there, bounds, scope, counts);
    }
}

}  // namespace quern::near_duplicates_detail
