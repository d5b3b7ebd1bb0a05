// SPDX-License-Identifier: Apache-2.0
// The method `signature` on CUDA. The rows of signature_join.hpp are sorted on the device; the partners of each row are a
// window of them. Groups of rows times tiles of their windows are the blocks of one launch of the filter. Passing pairs go
// through a queue to the bit-parallel distance, one thread per pair. They are appended in any order; the final sort makes
// the order unique.
#include <algorithm>
#include <bit>
#include <optional>

#include "ops/near_duplicates/papers/signatures/signature_filter.cuh"
#include "ops/near_duplicates/papers/signatures/signature_join_bits.hpp"
#include "ops/near_duplicates/papers/signatures/thesis_kernels.hpp"
#include "primitives/scan/scan.hpp"
#include "primitives/sort/sort.hpp"

namespace quern::near_duplicates_detail {
namespace {

constexpr unsigned threads = 256;
constexpr unsigned row_lists = 2 * row_segments;  // old and new of each

/// One thread per text: its three rows. longest_double[2 · segment + new]: the longest signature at twice the block size.
__global__ __launch_bounds__(threads) void write_rows_kernel(const std::uint64_t* offsets,
                                                             const std::uint8_t* levels, std::uint32_t texts,
                                                             std::uint32_t first_new, std::uint32_t* keys,
                                                             std::uint32_t* sources,
                                                             std::int32_t* longest_double) {
    __shared__ std::int32_t longest[row_lists];
    for (unsigned list = threadIdx.x; list < row_lists; list += threads) longest[list] = -1;
    __syncthreads();
    const std::uint32_t i = blockIdx.x * threads + threadIdx.x;
    if (i < texts) {
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
        atomicMax(&longest[(level + 2) * 2 + (is_new ? 1 : 0)], static_cast<std::int32_t>(at_double));
    }
    __syncthreads();
    for (unsigned list = threadIdx.x; list < row_lists; list += threads)
        if (longest[list] >= 0) atomicMax(longest_double + list, longest[list]);
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

/// Kind 0: later rows of its own list. Kind 1: new rows for an old one and old rows for a new one, longer or, for one of
/// the two, of equal length. Every two rows that may be compared are in one window of one of them, the shorter or earlier one.
/// A signature at its own block size has a window beyond segment 0 only as far as there are doubles.
__device__ window window_of(const join_data& data, const std::int32_t* longest_double, std::uint32_t row,
                            unsigned kind, bool within_new) {
    const std::uint32_t key = data.keys[row];
    const unsigned segment = segment_in(key), length = length_in(key);
    const bool is_new = is_new_in(key);
    int longest = data.longest[length];
    if (segment != 0 && (data.sources[row] & 1) == 0)
        longest = min(longest, longest_double[2 * segment + ((kind == 0) == is_new ? 1 : 0)]);
    if (longest < static_cast<int>(length)) return {0, 0};
    if (kind == 0) {
        if (!is_new || !within_new) return {0, 0};
        return {row + 1, first_not_below(data, key_of(segment, true, static_cast<unsigned>(longest)) + 1)};
    }
    return {first_not_below(data, key_of(segment, !is_new, length) + (is_new ? 0 : 1)),
            first_not_below(data, key_of(segment, !is_new, static_cast<unsigned>(longest)) + 1)};
}

/// One block per group of rows, one thread per row. Computes both windows of each row, the span of the group's windows
/// (from a multiple of the alignment on), the maximum tiles in a span of each band, and the pairs in the windows of segment
/// 0. Groups past the rows have empty spans.
__global__ __launch_bounds__(group_rows) void find_windows_kernel(join_data data,
                                                                  const std::int32_t* longest_double,
                                                                  bool within_new, std::uint32_t columns,
                                                                  window* windows, window* spans,
                                                                  std::uint32_t* tiles, counter* compared) {
    __shared__ std::uint32_t first[2], last[2];
    __shared__ counter pairs;
    if (threadIdx.x < 2) {
        first[threadIdx.x] = 0xffffffff;
        last[threadIdx.x] = 0;
    }
    if (threadIdx.x == 0) pairs = 0;
    __syncthreads();
    const std::uint32_t row = blockIdx.x * group_rows + threadIdx.x;
    for (unsigned kind = 0; kind < 2 && row < data.rows; ++kind) {
        const window w = window_of(data, longest_double, row, kind, within_new);
        windows[std::size_t{kind} * data.rows + row] = w;
        if (w.first >= w.last) continue;
        atomicMin(&first[kind], w.first);
        atomicMax(&last[kind], w.last);
        if (segment_in(data.keys[row]) == 0) atomicAdd(&pairs, static_cast<counter>(w.last - w.first));
    }
    __syncthreads();
    if (threadIdx.x < 2) {
        window span{first[threadIdx.x] / tile_alignment * tile_alignment, last[threadIdx.x]};
        if (span.first >= span.last) span = {0, 0};
        const std::uint32_t at = threadIdx.x * gridDim.x + blockIdx.x;
        spans[at] = span;
        atomicMax(&tiles[at / band_groups], (span.last - span.first + columns - 1) / columns);
    }
    if (threadIdx.x == 0 && pairs != 0) atomicAdd(compared, pairs);
}

/// The positions of each letter in a pattern, by the six bits of its letters, so that it stays in registers.
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

/// One thread per pair of the queue, then the next one a whole grid later. Appends (a << 32 | b) of the candidates.
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

cuda::launch_shape one_thread_each(std::uint64_t items) {
    return {cuda::blocks_for(items, threads), threads};
}

/// One join: the rows, their windows and tiles, and the queue that its launches share.
class device_join {
  public:
    device_join(cuda_place& place, const device_signatures& signatures, const signature_bounds& bounds,
                const duplicate_scope& scope)
        : place_(place),
          texts_(static_cast<std::uint32_t>(signatures.levels.size())),
          longest_length_(bounds.length()) {
        const std::uint32_t rows = 3 * texts_;
        keys_ = make_array<std::uint32_t>(place, rows, "the rows of the signatures");
        sources_ = make_array<std::uint32_t>(place, rows, "the rows of the signatures");
        std::vector<std::int32_t> tables = bounds.longest();
        tables.insert(tables.end(), bounds.largest().begin(), bounds.largest().end());
        tables_ = array_from(place, std::span<const std::int32_t>(tables));
        data_ = {signatures.letters.data(),
                 signatures.offsets.data(),
                 tables_.data() + bounds.longest().size(),
                 tables_.data(),
                 keys_.data(),
                 sources_.data(),
                 rows};
        longest_double_ = make_array<std::int32_t>(place, row_lists, "lengths of signatures");
        place.fill_bytes(longest_double_.data(), 0xff, longest_double_.span().size_bytes());
        QUERN_LAUNCH(place, one_thread_each(texts_), write_rows_kernel, signatures.offsets.data(),
                     signatures.levels.data(), texts_, scope.first_new, keys_.data(), sources_.data(),
                     longest_double_.data());
        primitives::sort_pairs(place, keys_.span(), sources_.span(),
                               {primitives::order::ascending, key_bits});
        filter_.emplace(place, data_, bounds);
        make_tiles(scope.within_new);

        const std::uint64_t one_tile = std::uint64_t{group_rows} * columns();
        const std::uint64_t enough = std::clamp(std::uint64_t{16} * texts_, min_queue, 4 * min_queue);
        capacity_ = std::clamp(place.memory().left() / 64, one_tile, enough);
        queue_ = make_array<source_pair>(place, capacity_, "pairs of signatures that may be near");
        found_ = make_array<std::uint64_t>(place, capacity_, "pairs of signatures that are near");
        counters_ = make_array<counter>(place, 2, "counters");
    }

    std::uint64_t size() const { return tile_count_; }
    std::uint64_t compared() const { return compared_; }

    std::vector<candidate> join(std::uint64_t begin, std::uint64_t end) {
        std::vector<candidate> all;
        const std::uint64_t max_tiles = pairs_of_a_launch / group_rows / columns();
        std::uint64_t maximum = max_tiles;
        for (std::uint64_t tile = begin; tile < end;) {
            place_.ctx().check_stop();
            const std::uint64_t count = std::min(maximum, end - tile);
            if (!join_tiles(tile, count, all)) {  // one tile always fits
                maximum = count / 2;
                continue;
            }
            tile += count;
            maximum = std::min(2 * maximum, max_tiles);
        }
        return all;
    }

  private:
    static constexpr std::uint64_t min_queue = std::uint64_t{1} << 22;
    static constexpr std::uint64_t pairs_of_a_launch = std::uint64_t{1} << 37;  // a fraction of a second

    /// Columns of a tile: few if there are few rows, so that all multiprocessors get work.
    std::uint32_t columns() const { return data_.rows < 200'000 ? 512 : 2048; }

    void make_tiles(bool within_new) {
        groups_ = cuda::blocks_for(data_.rows, group_rows * band_groups) * band_groups;
        const std::size_t bands = 2 * std::size_t{groups_} / band_groups;
        windows_ = make_array<window>(place_, 2 * std::size_t{data_.rows}, "windows of rows");
        spans_ = make_array<window>(place_, 2 * std::size_t{groups_}, "windows of rows");
        starts_ = make_array<std::uint64_t>(place_, bands + 1, "tiles of rows");
        const auto tiles = make_array<std::uint32_t>(place_, bands, "tiles of rows");
        const auto compared = make_array<counter>(place_, 1, "a counter");
        place_.fill_bytes(tiles.data(), 0, tiles.span().size_bytes());
        place_.fill_bytes(compared.data(), 0, sizeof(counter));
        QUERN_LAUNCH(place_, (cuda::launch_shape{groups_, group_rows}), find_windows_kernel, data_,
                     longest_double_.data(), within_new, columns(), windows_.data(), spans_.data(),
                     tiles.data(), compared.data());
        primitives::exclusive_scan<std::uint32_t, std::uint64_t>(place_, tiles.span(), starts_.span());
        place_.copy_out(&compared_, compared.data(), sizeof compared_);
        place_.copy_out(&tile_count_, starts_.data() + bands, sizeof tile_count_);
        tile_count_ *= band_groups;
    }

    /// False if more pairs passed the filter than the queue holds; nothing was taken then.
    bool join_tiles(std::uint64_t first, std::uint64_t count, std::vector<candidate>& all) {
        place_.fill_bytes(counters_.data(), 0, counters_.span().size_bytes());
        const pair_queue queue{queue_.data(), counters_.data(), capacity_};
        filter_->pass({windows_.data(), spans_.data(), starts_.data(), groups_, columns()}, first, count,
                      queue);
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

    template <unsigned Words>
    void measure(const pair_queue& queue) {
        QUERN_LAUNCH(place_, (cuda::launch_shape{place_.multiprocessors() * 16, 128}),
                     measure_pairs_kernel<Words>, data_, queue, found_.data(), counters_.data() + 1);
    }

    cuda_place& place_;
    std::uint32_t texts_;
    unsigned longest_length_;
    cuda_array<std::uint32_t> keys_, sources_;
    cuda_array<std::int32_t> tables_, longest_double_;
    cuda_array<std::uint64_t> starts_, found_;
    cuda_array<window> windows_, spans_;
    cuda_array<source_pair> queue_;
    cuda_array<counter> counters_;
    join_data data_{};
    std::optional<row_filter> filter_;
    std::uint32_t groups_ = 0;
    std::uint64_t compared_ = 0, tile_count_ = 0, capacity_ = 0;
};

/// Signatures copied to device memory.
struct copied_signatures {
    cuda_array<std::uint8_t> letters, levels;
    cuda_array<std::uint64_t> offsets;

    copied_signatures(cuda_place& place, const signature_view& from)
        : letters(array_from(place, from.letters, "the letters of the signatures")),
          levels(array_from(place, from.levels, "the block sizes of the signatures")),
          offsets(array_from(place, from.offsets, "the offsets of the signatures")) {}
    device_signatures view() const { return {letters.span(), offsets.span(), levels.span()}; }
};

class device_tiles final : public signature_tiles {
  public:
    device_tiles(cuda_place& place, const signature_view& signatures, const signature_bounds& bounds,
                 const duplicate_scope& scope)
        : signatures_(place, signatures), join_(place, signatures_.view(), bounds, scope) {}
    std::uint64_t size() const override { return join_.size(); }
    std::uint64_t compared() const override { return join_.compared(); }
    std::vector<candidate> join(std::uint64_t begin, std::uint64_t end) override {
        return join_.join(begin, end);
    }

  private:
    copied_signatures signatures_;
    device_join join_;
};

}  // namespace

std::unique_ptr<signature_tiles> tiles_of_join(cuda_place& place, const signature_view& signatures,
                                               const signature_bounds& bounds, const duplicate_scope& scope) {
    return std::make_unique<device_tiles>(place, signatures, bounds, scope);
}

std::vector<candidate> join_signatures(cuda_place& place, const device_signatures& signatures,
                                       const signature_bounds& bounds, const duplicate_scope& scope,
                                       duplicate_counts& counts) {
    check_texts(signatures.levels.size());
    if (signatures.levels.empty()) return {};
    device_join tiles(place, signatures, bounds, scope);
    counts.compared += tiles.compared();
    std::vector<candidate> all = tiles.join(0, tiles.size());
    sort_candidates(all);
    counts.candidates += all.size();
    return all;
}

template <>
std::vector<candidate> signature_candidates(cuda_place& place, const text_list& texts,
                                            const duplicate_options& options, const duplicate_scope& scope,
                                            duplicate_counts& counts) {
    cpu_place host(place.ctx());
    const signature_list signatures(host, texts, options.signature_length);
    const signature_bounds bounds(options.slack, options.threshold, options.signature_length);
    const signature_view view = signatures.view();
    const copied_signatures copied(place, view);
    const device_signatures device_signatures_view = copied.view();
    switch (options.method) {
        case duplicate_method::shared_memory:
            return thesis_candidates(place, {thesis_kernel::rows_in_shared}, view, device_signatures_view,
                                     bounds, scope, counts);
        case duplicate_method::global_memory:
            return thesis_candidates(place, {thesis_kernel::rows_in_global}, view, device_signatures_view,
                                     bounds, scope, counts);
        default:
            return join_signatures(place, device_signatures_view, bounds, scope, counts);
    }
}

}  // namespace quern::near_duplicates_detail
