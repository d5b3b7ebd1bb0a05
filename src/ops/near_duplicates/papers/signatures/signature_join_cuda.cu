// SPDX-License-Identifier: Apache-2.0
// The method `signature` on CUDA. The rows of signature_join.hpp are sorted on the device; the partners of each row are a
// window of them. Groups of rows times tiles of their windows are the blocks of one launch of the filter. Passing pairs go
// through a queue to the bit-parallel distance, one thread per pair. They are appended in any order; the final sort makes
// the order unique.
#include <algorithm>
#include <bit>
#include <optional>

#include "ops/near_duplicates/papers/signatures/segment_index.cuh"
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
/// A signature at its own block size has a window beyond segment 0 only as far as there are doubles. `limit`: the longest row
/// that may be in a window.
__device__ window window_of(const join_data& data, const std::int32_t* longest_double, std::uint32_t row,
                            unsigned kind, bool within_new, int limit) {
    const std::uint32_t key = data.keys[row];
    const unsigned segment = segment_in(key), length = length_in(key);
    const bool is_new = is_new_in(key);
    int longest = min(data.longest[length], limit);
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
__global__ __launch_bounds__(group_rows) void find_windows_kernel(
    join_data data, const std::int32_t* longest_double, bool within_new, int limit, std::uint32_t columns,
    window* windows, window* spans, std::uint32_t* tiles, counter* compared) {
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
        const window w = window_of(data, longest_double, row, kind, within_new, limit);
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

cuda::launch_shape one_thread_each(std::uint64_t items) {
    return {cuda::blocks_for(items, threads), threads};
}

/// One join: the rows, their windows and tiles, and the queue that its launches share.
class device_join {
  public:
    device_join(cuda_place& place, const device_signatures& signatures, const signature_bounds& bounds,
                const duplicate_scope& scope)
        : place_(place),
          bounds_(bounds),
          scope_(scope),
          texts_(static_cast<std::uint32_t>(signatures.levels.size())),
          letters_(signatures.letters.size()) {
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
        compared_ = make_tiles(bounds.length());

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
        index_.reset();
        if (!filter_ && begin < end) filter_.emplace(place_, data_, bounds_);
        const tile_list tiles{windows_.data(), spans_.data(), starts_.data(), groups_, columns()};
        join_ranges(begin, end, pairs_of_a_launch / group_rows / columns(), all,
                    [&](std::uint64_t first, std::uint64_t count, const pair_queue& queue) {
                        filter_->pass(tiles, first, count, queue);
                    });
        return all;
    }

    unsigned fewest_parts() { return gram_parts(letters_, place_.memory().left() / 2); }
    /// Appends the candidates whose longer row has segments that begin with grams of a part. False if comparing all rows is
    /// cheaper, or memory is short; candidates found until then do no harm.
    bool join_by_segments(unsigned part, const segments_choice& choice, std::vector<candidate>& all) {
        const unsigned parts = choice.parts;
        const std::uint64_t products =
            choice.use == segments_use::always ? ~std::uint64_t{0} : tile_count_ * group_rows * columns();
        if (choice.use == segments_use::never || !fits_segments(products, parts)) return false;
        if (!index_)
            index_.emplace(place_, data_, windows_.data(), longest_double_.data(), scope_.first_new > 0,
                           bounds_, parts);
        place_.ctx().check_stop();
        if (!index_->list(part, products / parts)) return false;
        const std::uint64_t warps = (index_->size() + 31) / 32;
        return join_ranges(
            0, warps, warps, all, [&](std::uint64_t first, std::uint64_t count, const pair_queue& queue) {
                index_->pass(32 * first, std::min(32 * (first + count), index_->size()), queue);
            });
    }
    /// From now on tiles have only the pairs whose longer row is too short for segments.
    void keep_short_rows() {
        index_.reset();
        make_tiles(static_cast<int>(shortest_in_segments(bounds_)) - 1);
    }

    /// The candidates of all tiles.
    std::vector<candidate> join_all(segments_choice choice) {
        std::vector<candidate> all;
        if (choice.parts == 0) choice.parts = fewest_parts();
        unsigned part = 0;
        while (part < choice.parts && join_by_segments(part, choice, all)) ++part;
        if (part == choice.parts) keep_short_rows();
        const std::vector<candidate> of_tiles = join(0, size());
        all.insert(all.end(), of_tiles.begin(), of_tiles.end());
        return all;
    }

  private:
    static constexpr std::uint64_t min_queue = std::uint64_t{1} << 22;
    static constexpr std::uint64_t pairs_of_a_launch = std::uint64_t{1} << 37;  // a fraction of a second

    /// Columns of a tile: few if there are few rows, so that all multiprocessors get work.
    std::uint32_t columns() const { return data_.rows < 200'000 ? 512 : 2048; }

    /// Tiles of the pairs whose longer row has at most `limit` letters. Returns the pairs in windows of segment 0.
    std::uint64_t make_tiles(int limit) {
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
                     longest_double_.data(), scope_.within_new, limit, columns(), windows_.data(),
                     spans_.data(), tiles.data(), compared.data());
        primitives::exclusive_scan<std::uint32_t, std::uint64_t>(place_, tiles.span(), starts_.span());
        std::uint64_t pairs = 0;
        place_.copy_out(&pairs, compared.data(), sizeof pairs);
        place_.copy_out(&tile_count_, starts_.data() + bands, sizeof tile_count_);
        tile_count_ *= band_groups;
        return pairs;
    }

    bool fits_segments(std::uint64_t products, unsigned parts) const {
        constexpr std::uint64_t min_of_row = 25'000;  // some fifty grams
        const std::uint64_t bytes =                   // besides the lists of a part
            data_.rows * (bounds_.length() + 28ull) + row_groups(data_) * (12ull * parts + 24) +
            (2 * sizeof(window) << bits_in_part(parts));
        return bounds_.length() <= max_segmented && shortest_in_segments(bounds_) <= bounds_.length() &&
               std::uint64_t{data_.rows} << std::bit_width(bounds_.length()) <= std::uint64_t{1} << 32 &&
               (index_ || bytes <= place_.memory().left() / 2) && min_of_row * data_.rows <= products;
    }

    /// Calls pass(first, count, queue) for ranges of units, at most `most` at once, and collects candidates. Repeats a range
    /// in halves if more pairs pass than the queue holds; false if one unit is too much.
    template <class Pass>
    bool join_ranges(std::uint64_t begin, std::uint64_t end, std::uint64_t most, std::vector<candidate>& all,
                     const Pass& pass) {
        std::uint64_t maximum = most;
        while (begin < end) {
            place_.ctx().check_stop();
            const std::uint64_t count = std::min(maximum, end - begin);
            place_.fill_bytes(counters_.data(), 0, counters_.span().size_bytes());
            const pair_queue queue{queue_.data(), counters_.data(), capacity_};
            pass(begin, count, queue);
            if (!collect(queue, all)) {
                if (count == 1) return false;
                maximum = count / 2;
                continue;
            }
            begin += count;
            maximum = std::min(2 * maximum, most);
        }
        return true;
    }

    /// False if more pairs passed the filter than the queue holds; nothing was taken then.
    bool collect(const pair_queue& queue, std::vector<candidate>& all) {
        measure_pairs(place_, data_, bounds_.length(), queue, {found_.data(), counters_.data() + 1});
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

    static constexpr unsigned max_segmented = 256;  // letters: a number of a segment has seven bits

    cuda_place& place_;
    const signature_bounds& bounds_;
    duplicate_scope scope_;
    std::uint32_t texts_;
    std::uint64_t letters_;
    cuda_array<std::uint32_t> keys_, sources_;
    cuda_array<std::int32_t> tables_, longest_double_;
    cuda_array<std::uint64_t> starts_, found_;
    cuda_array<window> windows_, spans_;
    cuda_array<source_pair> queue_;
    cuda_array<counter> counters_;
    join_data data_{};
    std::optional<row_filter> filter_;
    std::optional<segment_index> index_;
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
    unsigned fewest_parts() override { return join_.fewest_parts(); }
    bool join_by_segments(unsigned part, const segments_choice& choice,
                          std::vector<candidate>& all) override {
        return join_.join_by_segments(part, choice, all);
    }
    void keep_short_rows() override { join_.keep_short_rows(); }

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
                                       duplicate_counts& counts, const segments_choice& choice) {
    check_texts(signatures.levels.size());
    if (signatures.levels.empty()) return {};
    device_join join(place, signatures, bounds, scope);
    counts.compared += join.compared();
    std::vector<candidate> all = join.join_all(choice);
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
