// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <numeric>
#include <utility>
#include <vector>

#include "device/cpu/parallel.hpp"
#include "device/cuda/check.cuh"
#include "device/progress_meter.hpp"
#include "ops/near_duplicates/papers/words/shingle_tile.cuh"
#include "primitives/load_balance/load_balance.hpp"
#include "primitives/scan/scan.hpp"
#include "primitives/select/select.hpp"
#include "primitives/sort/sort.hpp"

namespace quern::near_duplicates_detail {
namespace {

using cuda::blocks_for;
using cuda::launch_shape;

constexpr unsigned block_threads = 256;
constexpr std::string_view what_for = "sets of shingles";

/// Counts of shingles, for kernels.
struct count_table {
    const std::uint32_t* bytes;
    unsigned shift;

    __device__ std::uint32_t of(std::uint64_t hash) const {
        const std::uint64_t at = hash >> shift;
        return bytes[at / 4] >> 8 * (at % 4) & 0xff;
    }
};

/// The hash of the shingle that begins at a position of a record, if one does.
__device__ bool hash_at(const tile_words& text, std::uint32_t record, std::uint64_t at,
                        const shingle_rule& rule, std::uint64_t& hash) {
    const std::uint64_t end = text.offsets[record + 1], length = end - text.offsets[record];
    const auto width = static_cast<unsigned>(min(length, static_cast<std::uint64_t>(rule.width)));
    if (at + width > end) return false;
    std::uint64_t sum = 0;
    for (unsigned k = 0; k < width; ++k) sum = sum * shingle_base + shingle_mixed(text.words[at + k]);
    hash = shingle_mixed(sum + width) & rule.hash_bits;
    return true;
}

/// Adds one to a byte, up to 255.
__device__ void increase(std::uint32_t* counts, std::uint64_t at) {
    std::uint32_t* const four = counts + at / 4;
    const unsigned shift = 8 * static_cast<unsigned>(at % 4);
    std::uint32_t now = __ldcg(four);
    while ((now >> shift & 0xff) != 255) {
        const std::uint32_t seen = atomicCAS(four, now, now + (std::uint32_t{1} << shift));
        if (seen == now) return;
        now = seen;
    }
}

/// One thread, one position of the words. No shared memory.
__global__ void count_shingles_kernel(tile_words text, const std::uint32_t* record_of, shingle_rule rule,
                                      std::uint32_t* counts, unsigned shift) {
    const std::uint64_t i = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x;
    std::uint64_t hash = 0;
    if (i < text.size && hash_at(text, record_of[i], i, rule, hash)) increase(counts, hash >> shift);
}

/// Adds each lane's value to a sum of its record; the whole warp calls it. Neighbours mostly have one record.
template <class T>
__device__ void add_to_record(T* sums, std::uint32_t record, T value) {
    const std::uint32_t first = __shfl_sync(0xffffffff, record, 0);
    if (__all_sync(0xffffffff, record == first ? 1 : 0) == 0) {
        if (value != 0) atomicAdd(sums + record, value);
        return;
    }
    for (unsigned step = 16; step != 0; step /= 2) value += __shfl_down_sync(0xffffffff, value, step);
    if (threadIdx.x % 32 == 0 && value != 0) atomicAdd(sums + first, value);
}

/// One thread, one position of the words: the key of the shingle that begins there, and whether it belongs to the sorted part
/// of the set, by record counted. Shingles with count 1 are counted and hashed at once. The last warp is complete: lanes past
/// the end add nothing to the last record.
__global__ void write_keys_kernel(tile_words text, const std::uint32_t* record_of, shingle_rule rule,
                                  count_table counts, std::uint64_t* keys, std::uint8_t* is_shared,
                                  std::uint32_t* once, std::uint32_t* shared, unsigned long long* hash_sums) {
    const std::uint64_t i = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x;
    const bool inside = i < text.size;
    const std::uint32_t record = record_of[inside ? i : text.size - 1];
    std::uint64_t hash = 0, key = 0;
    std::uint32_t count = 0;
    if (inside && hash_at(text, record, i, rule, hash)) {
        count = counts.of(hash);
        key = std::uint64_t{count} << 56 | hash >> 8;
    }
    if (inside) {
        keys[i] = key;
        is_shared[i] = count > 1 ? 1 : 0;
    }
    add_to_record<std::uint32_t>(once, record, count == 1 ? 1 : 0);
    add_to_record<std::uint32_t>(shared, record, count > 1 ? 1 : 0);
    add_to_record<unsigned long long>(hash_sums, record, count == 1 ? shingle_mixed(key) : 0);
}

/// One thread, one sorted key: whether it is the first of its shingle in its record. Equal keys are compared by their words,
/// with the first of them first, so that repeats of one shingle cost one comparison each.
__global__ void keep_first_kernel(tile_words text, const std::uint32_t* record_of,
                                  const std::uint64_t* offsets, const std::uint64_t* keys,
                                  const std::uint32_t* at, std::uint64_t size, unsigned width,
                                  std::uint8_t* keeps, std::uint32_t* kept, unsigned long long* hash_sums) {
    const std::uint64_t i = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x;
    const bool inside = i < size;
    const std::uint64_t mine = inside ? i : size - 1;
    const std::uint32_t record = record_of[at[mine]];
    const std::uint64_t begin = offsets[record], key = keys[mine];
    bool repeats = false;
    if (inside && i > begin && keys[i - 1] == key) {
        for (std::uint64_t j = first_not_below(keys, begin, i, key); j < i && !repeats; ++j)
            repeats = same_shingle(text, record, at[i], text, record, at[j], width);
    }
    if (inside) keeps[i] = repeats ? 0 : 1;
    const bool counts = inside && !repeats;
    add_to_record<std::uint32_t>(kept, record, counts ? 1 : 0);
    add_to_record<unsigned long long>(hash_sums, record, counts ? shingle_mixed(key) : 0);
}

template <class T>
cuda_array<T> zeros(cuda_place& place, std::size_t size) {
    auto made = make_array<T>(place, size, what_for);
    place.fill_bytes(made.data(), 0, size * sizeof(T));
    return made;
}

/// Copies the words of the documents, in this order, to the device.
void copy_words(cuda_place& place, cpu_place& host, const word_list& documents,
                std::span<const std::uint32_t> which, std::span<const std::uint64_t> offsets,
                device_span<std::uint32_t> to) {
    const bool in_order =
        which.back() - which.front() + std::size_t{1} == which.size() && std::ranges::is_sorted(which);
    if (in_order)
        return copy_in<std::uint32_t>(
            place, documents.words.subspan(documents.offsets[which.front()], to.size()), to);
    constexpr std::uint64_t max_words = std::uint64_t{16} << 20;
    const auto gathered =
        make_array<std::uint32_t>(host, std::min<std::uint64_t>(to.size(), max_words), what_for);
    for (std::size_t first = 0; first < which.size();) {
        // As many documents as fit; of one that does not fit, parts.
        std::size_t last = first + 1;
        while (last < which.size() && offsets[last + 1] - offsets[first] <= gathered.size()) ++last;
        const std::uint64_t size = offsets[last] - offsets[first];
        if (size > gathered.size()) {
            copy_in<std::uint32_t>(place, documents[which[first]], to.subspan(offsets[first], size));
        } else {
            const std::size_t pieces = pieces_for(host, last - first, 64, 16);
            for_each_piece(host, pieces, [&](std::size_t p) {
                const auto [begin, end] = piece_of(last - first, pieces, p);
                for (std::size_t i = first + begin; i < first + end; ++i)
                    std::ranges::copy(documents[which[i]], gathered.data() + (offsets[i] - offsets[first]));
            });
            copy_in<std::uint32_t>(place, gathered.span().first(size), to.subspan(offsets[first], size));
        }
        first = last;
    }
}

/// The words alone.
shingle_tile load_tile(cuda_place& place, cpu_place& host, const word_list& documents,
                       std::span<const std::uint32_t> which, const shingle_rule& rule) {
    place.ctx().check_stop();
    shingle_tile tile;
    tile.records = static_cast<std::uint32_t>(which.size());
    tile.width = rule.width;
    std::vector<std::uint64_t> offsets{0};
    offsets.reserve(which.size() + 1);
    for (const std::uint32_t d : which) offsets.push_back(offsets.back() + documents[d].size());
    tile.words = make_array<std::uint32_t>(place, offsets.back(), what_for);
    tile.word_offsets = array_from<cuda_place, std::uint64_t>(place, offsets, what_for);
    copy_words(place, host, documents, which, offsets, tile.words.span());
    return tile;
}

cuda_array<std::uint32_t> records_of(cuda_place& place, const shingle_tile& tile) {
    auto numbers = make_array<std::uint32_t>(place, tile.words.size(), what_for);
    primitives::load_balancing_search<std::uint32_t>(place, tile.word_offsets.span(), numbers.span());
    return numbers;
}

/// Offsets from lengths, and the last one.
std::pair<cuda_array<std::uint64_t>, std::uint64_t> offsets_of(cuda_place& place,
                                                               const cuda_array<std::uint32_t>& lengths) {
    auto offsets = make_array<std::uint64_t>(place, lengths.size() + 1, what_for);
    primitives::exclusive_scan<std::uint32_t, std::uint64_t>(place, lengths.span(), offsets.span());
    std::uint64_t all = 0;
    copy_out<std::uint64_t>(place, offsets.span().subspan(lengths.size()), std::span(&all, 1));
    return {std::move(offsets), all};
}

}  // namespace

device_shingle_counts::device_shingle_counts(cuda_place& place, cpu_place& host, const word_list& documents,
                                             const shingle_rule& rule) {
    const std::uint64_t words = documents.offsets.back() - documents.offsets.front(),
                        budget = place.memory().left() / 4;
    const std::uint64_t wanted = std::max<std::uint64_t>(std::min(2 * words, budget), 4);
    const auto bits = static_cast<unsigned>(std::bit_width(wanted)) - 1;
    shift_ = 64 - bits;
    counts_ = zeros<std::uint32_t>(place, (std::size_t{1} << bits) / 4);
    std::vector<std::uint32_t> all(documents.size());
    for (std::uint32_t d = 0; d < all.size(); ++d) all[d] = d;
    progress_meter meter(place.ctx(), "shingles", words, "words");
    const std::uint64_t bytes = place.memory().left() / 2;
    for (std::size_t begin = 0; begin < all.size();) {
        const std::size_t end = end_of_tile(documents, all, begin, bytes);
        const shingle_tile tile =
            load_tile(place, host, documents, std::span(all).subspan(begin, end - begin), rule);
        const auto record_of = records_of(place, tile);
        QUERN_LAUNCH(place, (launch_shape{blocks_for(tile.words.size(), block_threads), block_threads}),
                     count_shingles_kernel, tile.text(), record_of.data(), rule, counts_.data(), shift_);
        meter.add(tile.words.size());
        begin = end;
    }
    place.synchronise();
    meter.finish();
}

std::size_t end_of_tile(const word_list& documents, std::span<const std::uint32_t> which, std::size_t begin,
                        std::uint64_t bytes) {
    constexpr std::uint64_t max_words = std::uint64_t{1} << 31;  // positions have 32 bits
    std::uint64_t words = documents[which[begin]].size();
    std::size_t end = begin + 1;
    for (; end < which.size(); ++end) {
        words += documents[which[end]].size();
        if (words > max_words ||
            words * tile_bytes_per_word + (end + 1 - begin) * tile_bytes_per_record > bytes)
            break;
    }
    return end;
}

shingle_tile make_tile(cuda_place& place, cpu_place& host, const device_shingle_counts& counts,
                       const word_list& documents, std::span<const std::uint32_t> which,
                       const shingle_rule& rule) {
    shingle_tile tile = load_tile(place, host, documents, which, rule);
    const std::uint64_t size = tile.words.size();
    const auto record_of = records_of(place, tile);
    tile.once = zeros<std::uint32_t>(place, tile.records);
    tile.hash_sums = zeros<std::uint64_t>(place, tile.records);
    auto* const hash_sums = reinterpret_cast<unsigned long long*>(tile.hash_sums.data());

    auto shared = zeros<std::uint32_t>(place, tile.records);
    auto all_keys = make_array<std::uint64_t>(place, size, what_for);
    auto flags = make_array<std::uint8_t>(place, size, what_for);
    QUERN_LAUNCH(place, (launch_shape{blocks_for(size, block_threads), block_threads}), write_keys_kernel,
                 tile.text(), record_of.data(), rule, (count_table{counts.data(), counts.shift()}),
                 all_keys.data(), flags.data(), tile.once.data(), shared.data(), hash_sums);
    auto [offsets, found] = offsets_of(place, shared);
    auto keys = make_array<std::uint64_t>(place, found, what_for);
    auto at = make_array<std::uint32_t>(place, found, what_for);
    primitives::compact<std::uint64_t>(place, all_keys.span(), flags.span(), keys.span());
    primitives::compact_positions<std::uint32_t>(place, flags.span(), at.span());
    all_keys = {};
    primitives::segmented_sort_pairs<std::uint64_t, std::uint32_t>(place, keys.span(), at.span(),
                                                                   offsets.span());

    place.fill_bytes(shared.data(), 0, shared.span().size_bytes());
    const auto keeps = flags.span().first(found);
    QUERN_LAUNCH(place, (launch_shape{blocks_for(found, block_threads), block_threads}), keep_first_kernel,
                 tile.text(), record_of.data(), offsets.data(), keys.data(), at.data(), found, rule.width,
                 keeps.data(), shared.data(), hash_sums);
    auto [set_offsets, different] = offsets_of(place, shared);
    tile.set_offsets = std::move(set_offsets);
    if (different == found) {
        tile.keys = std::move(keys);
        tile.at = std::move(at);
        return tile;
    }
    tile.keys = make_array<std::uint64_t>(place, different, what_for);
    tile.at = make_array<std::uint32_t>(place, different, what_for);
    primitives::compact<std::uint64_t>(place, keys.span(), keeps, tile.keys.span());
    primitives::compact<std::uint32_t>(place, at.span(), keeps, tile.at.span());
    return tile;
}

set_measures measure_sets(cuda_place& place, cpu_place& host, const device_shingle_counts& counts_of,
                          const word_list& documents, const shingle_rule& rule) {
    const std::size_t size = documents.size();
    set_measures measures{make_array<std::uint64_t>(host, size, "sets of shingles"),
                          make_array<std::uint64_t>(host, size, "sets of shingles")};
    std::vector<std::uint32_t> all(size);
    std::iota(all.begin(), all.end(), 0u);
    progress_meter meter(place.ctx(), "sets", size, "documents");
    const std::uint64_t bytes = place.memory().left() / 4 * 3;
    for (std::size_t begin = 0; begin < size;) {
        const std::size_t end = end_of_tile(documents, all, begin, bytes);
        const shingle_tile tile =
            make_tile(place, host, counts_of, documents, std::span(all).subspan(begin, end - begin), rule);
        const auto once = to_host(place, tile.once.span());
        const auto offsets = to_host(place, tile.set_offsets.span());
        const auto sums = to_host(place, tile.hash_sums.span());
        for (std::size_t r = 0; r < tile.records; ++r) {
            const std::uint64_t elements = once[r] + offsets[r + 1] - offsets[r];
            measures.sizes.data()[begin + r] = elements;
            measures.hashes.data()[begin + r] = shingle_mixed(sums[r] + elements);
        }
        meter.add(end - begin);
        begin = end;
    }
    meter.finish();
    return measures;
}

}  // namespace quern::near_duplicates_detail
