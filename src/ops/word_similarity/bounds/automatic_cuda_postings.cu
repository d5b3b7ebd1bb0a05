// SPDX-License-Identifier: Apache-2.0
// Method `automatic` on a GPU, before the first step: the codes of weights, and tiles of rows converted to postings.
#include <algorithm>
#include <bit>
#include <cmath>

#include "device/cuda/check.cuh"
#include "ops/word_similarity/bounds/automatic_cuda.hpp"
#include "ops/word_similarity/bounds/weight_codes.cuh"
#include "ops/word_similarity/exact/pair_scores.cuh"
#include "primitives/reduce/reduce.hpp"
#include "primitives/scan/scan.hpp"
#include "primitives/sort/sort.hpp"

namespace quern::word_similarity_detail {
namespace {

constexpr similarity_measure lin = similarity_measure::lin, cosine = similarity_measure::cosine;

/// Entries as (column, local word and code), one row per block.
template <similarity_measure Measure>
__global__ void code_entries_kernel(device_rows rows, std::uint32_t from, std::uint64_t first_entry,
                                    double scale, std::uint32_t* columns, std::uint32_t* postings) {
    const std::uint64_t end = rows.offsets[from + blockIdx.x + 1];
    for (std::uint64_t e = rows.offsets[from + blockIdx.x] + threadIdx.x; e < end; e += blockDim.x) {
        columns[e - first_entry] = rows.columns[e];
        postings[e - first_entry] = code_of<Measure>(rows.weights[e], scale) << 16 | blockIdx.x;
    }
}

/// offsets[c]: the first entry whose column is at least c; the columns ascend. One thread per entry, and one more.
__global__ void find_offsets_kernel(const std::uint32_t* columns, std::uint32_t entries,
                                    std::uint32_t all_columns, std::uint32_t* offsets) {
    const std::uint32_t e = blockIdx.x * blockDim.x + threadIdx.x;
    if (e > entries) return;
    const std::uint32_t last = e == entries ? all_columns : columns[e];
    for (std::uint32_t c = e == 0 ? 0 : columns[e - 1] + 1; c <= last; ++c) offsets[c] = e;
}

/// The capacity of each list: its postings, and up to three for padding.
__global__ void round_lengths_kernel(const std::uint32_t* offsets, std::uint32_t columns,
                                     std::uint32_t* lengths) {
    const std::uint32_t c = blockIdx.x * blockDim.x + threadIdx.x;
    if (c < columns) lengths[c] = (offsets[c + 1] - offsets[c] + 3) / 4 * 4;
}

/// Arranges each list so that the lanes of a warp, which read four postings each, add to 32 different banks of shared
/// memory at a time: first four words of bank 0, then four of bank 1 … of bank 31, then the next four of bank 0, while any
/// are left. One warp per list; `none` pads it to multiples of four.
__global__ void __launch_bounds__(256)
    scatter_postings_kernel(const std::uint32_t* sorted, const std::uint32_t* sorted_offsets,
                            std::uint32_t columns, std::uint32_t none, const std::uint32_t* offsets,
                            std::uint32_t* scattered) {
    __shared__ std::uint32_t all_of_bank[8][32], next_of_bank[8][32];
    const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const std::uint32_t c = blockIdx.x * 8 + warp;
    if (c >= columns) return;
    const std::uint32_t begin = sorted_offsets[c], end = sorted_offsets[c + 1], to = offsets[c];
    std::uint32_t* const all = all_of_bank[warp];
    std::uint32_t* const next = next_of_bank[warp];
    all[lane] = next[lane] = 0;
    __syncwarp();
    for (std::uint32_t e = begin + lane; e < end; e += 32) atomicAdd(all + sorted[e] % 32, 1);
    __syncwarp();
    for (std::uint32_t from = begin; from < end; from += 32) {
        const std::uint32_t e = from + lane;
        const std::uint32_t posting = e < end ? sorted[e] : 0, bank = e < end ? posting % 32 : 32;
        const unsigned alike = __match_any_sync(0xffffffff, bank);
        if (e < end) {
            const std::uint32_t rank = next[bank] + __popc(alike & ((1u << lane) - 1)), round = rank / 4 * 4;
            std::uint32_t before = rank % 4;
            for (std::uint32_t b = 0; b < 32; ++b) before += min(all[b], b < bank ? round + 4 : round);
            scattered[to + before] = posting;
        }
        __syncwarp();
        if (e < end && __ffs(alike) - 1 == static_cast<int>(lane)) next[bank] += __popc(alike);
        __syncwarp();
    }
    const std::uint32_t filled = to + end - begin;
    if (filled + lane < offsets[c + 1]) scattered[filled + lane] = none;
}

/// 2^-bits of a fixed-point number, as a double.
double unfixed(std::uint64_t number, int bits) {
    return std::ldexp(static_cast<double>(number), -bits);
}

}  // namespace

std::optional<weight_codes> choose_codes(cpu_place& host, const fixed_rows& rows,
                                         similarity_measure measure) {
    constexpr double max = 0xf0000000;  // a small margin for the rounding of this computation
    double longest = 0;
    for (std::size_t w = 0; w < rows.words; ++w)
        longest = std::max(longest, static_cast<double>(rows.offsets[w + 1] - rows.offsets[w]));
    const double heaviest = primitives::reduce(host, rows.weights, primitives::reduce_operation::maximum);
    weight_codes codes{measure, 0, 0, std::vector<float>(rows.words)};
    if (measure == lin) {
        const double sum =
            static_cast<double>(*std::max_element(rows.sums.begin(), rows.sums.end())) + longest;
        codes.bits = rows.bits;
        const auto fits = [&] {
            return std::ceil(std::ldexp(heaviest, codes.bits)) <= 0xffff &&
                   2 * (std::ldexp(sum, codes.bits - rows.bits) + longest) < max;
        };
        for (; !fits(); --codes.bits)
            if (codes.bits < -200) return {};
        for (std::size_t w = 0; w < rows.words; ++w)
            codes.norms[w] = static_cast<float>(unfixed(rows.sums[w], rows.bits - codes.bits));
        return codes;
    }
    codes.bits = 15 - std::ilogb(heaviest) - 1;  // the heaviest becomes less than 2^15
    const double squares =
        1.01 *
        std::ldexp(static_cast<double>(*std::max_element(rows.squares.begin(), rows.squares.end())) + longest,
                   2 * codes.bits - rows.product_bits);
    codes.product_bits = rows.product_bits - 2 * codes.bits;
    codes.product_bits = std::min(codes.product_bits, 16);
    while (std::ldexp(squares + longest / 128, codes.product_bits) + longest >= max) --codes.product_bits;
    // If the unit of the exact terms is heavier than all products, codes of these would vanish next to it.
    if (codes.product_bits < -60) return {};
    const int exponent = 2 * codes.bits + codes.product_bits - rows.product_bits;  // of two norms
    for (std::size_t w = 0; w < rows.words; ++w)
        codes.norms[w] =
            static_cast<float>(std::sqrt(std::ldexp(static_cast<double>(rows.squares[w]), exponent)));
    return codes;
}

tile_postings make_postings(cuda_place& place, const device_rows& rows, std::uint32_t from,
                            std::uint32_t count, std::uint64_t first_entry, std::uint64_t entries,
                            std::uint32_t columns, const weight_codes& codes) {
    const cuda_array<std::uint32_t> keys(place, entries, "words by context"),
        sorted(place, entries, "words by context"),
        sorted_offsets(place, std::size_t{columns} + 1, "words by context"),
        lengths(place, columns, "words by context");
    const cuda::launch_shape a_row_a_block{count, 256};
    QUERN_LAUNCH(place, a_row_a_block,
                 (codes.measure == lin ? code_entries_kernel<lin> : code_entries_kernel<cosine>), rows, from,
                 first_entry, std::ldexp(1.0, codes.bits), keys.data(), sorted.data());
    primitives::sort_pairs(place, keys.span(), sorted.span(),
                           {primitives::order::ascending, static_cast<unsigned>(std::bit_width(columns))});
    QUERN_LAUNCH(place, (cuda::launch_shape{cuda::blocks_for(entries + 1, 256), 256}), find_offsets_kernel,
                 keys.data(), static_cast<std::uint32_t>(entries), columns, sorted_offsets.data());
    QUERN_LAUNCH(place, (cuda::launch_shape{cuda::blocks_for(columns, 256), 256}), round_lengths_kernel,
                 sorted_offsets.data(), columns, lengths.data());
    tile_postings tile{
        rows.first + from, count,
        cuda_array<std::uint32_t>(place, entries + std::size_t{columns} * 3, "words by context"),
        cuda_array<std::uint32_t>(place, std::size_t{columns} + 1, "words by context")};
    primitives::exclusive_scan<std::uint32_t, std::uint32_t>(place, lengths.span(), tile.offsets.span());
    QUERN_LAUNCH(place, (cuda::launch_shape{cuda::blocks_for(columns, 8), 256}), scatter_postings_kernel,
                 sorted.data(), sorted_offsets.data(), columns, count, tile.offsets.data(),
                 tile.postings.data());
    return tile;
}

}  // namespace quern::word_similarity_detail
