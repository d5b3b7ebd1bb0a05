// SPDX-License-Identifier: Apache-2.0
// Method `automatic` on a GPU, before the first step: the codes of weights, and tiles of rows turned to postings.
#include <algorithm>
#include <bit>
#include <cmath>

#include "device/cuda/check.cuh"
#include "ops/word_similarity/automatic_cuda.hpp"
#include "ops/word_similarity/pair_scores.cuh"
#include "ops/word_similarity/weight_codes.cuh"
#include "primitives/sort/sort.hpp"

namespace quern::word_similarity_detail {
namespace {

constexpr similarity_measure lin = similarity_measure::lin, cosine = similarity_measure::cosine;

/// Entries as (column, local word and code), a row a block.
template <similarity_measure Measure>
__global__ void code_entries_kernel(device_rows rows, std::uint32_t from, std::uint64_t first_entry,
                                    double scale, std::uint32_t* columns, std::uint32_t* postings) {
    const std::uint64_t end = rows.offsets[from + blockIdx.x + 1];
    for (std::uint64_t e = rows.offsets[from + blockIdx.x] + threadIdx.x; e < end; e += blockDim.x) {
        columns[e - first_entry] = rows.columns[e];
        postings[e - first_entry] = blockIdx.x << 16 | code_of<Measure>(rows.weights[e], scale);
    }
}

/// offsets[c]: the first entry whose column is not less than c; the columns rise. A thread an entry, and one more.
__global__ void find_offsets_kernel(const std::uint32_t* columns, std::uint32_t entries,
                                    std::uint32_t all_columns, std::uint32_t* offsets) {
    const std::uint32_t e = blockIdx.x * blockDim.x + threadIdx.x;
    if (e > entries) return;
    const std::uint32_t last = e == entries ? all_columns : columns[e];
    for (std::uint32_t c = e == 0 ? 0 : columns[e - 1] + 1; c <= last; ++c) offsets[c] = e;
}

/// 2^-bits of a fixed-point number, as a double.
double unfixed(std::uint64_t number, int bits) {
    return std::ldexp(static_cast<double>(number), -bits);
}

}  // namespace

std::optional<weight_codes> choose_codes(const fixed_rows& rows, similarity_measure measure) {
    constexpr double most = 0xf0000000;  // a little room for the roundings of this reckoning
    double longest = 0;
    for (std::size_t w = 0; w < rows.words; ++w)
        longest = std::max(longest, static_cast<double>(rows.offsets[w + 1] - rows.offsets[w]));
    std::uint32_t heaviest_bits =
        0;  // floats above 0 are ordered as their bits are, which compilers know to compare by eights
    for (const float weight : rows.weights)
        heaviest_bits = std::max(heaviest_bits, std::bit_cast<std::uint32_t>(weight));
    const double heaviest = std::bit_cast<float>(heaviest_bits);
    weight_codes codes{measure, 0, 0, std::vector<float>(rows.words)};
    if (measure == lin) {
        const double sum =
            static_cast<double>(*std::max_element(rows.sums.begin(), rows.sums.end())) + longest;
        codes.bits = rows.bits;
        const auto fits = [&] {
            return std::ceil(std::ldexp(heaviest, codes.bits)) <= 0xffff &&
                   2 * (std::ldexp(sum, codes.bits - rows.bits) + longest) < most;
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
    for (codes.product_bits = std::min(codes.product_bits, 16);
         std::ldexp(squares + longest / 128, codes.product_bits) + longest >= most; --codes.product_bits)
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
    tile_postings tile{rows.first + from, count,
                       cuda_array<std::uint32_t>(place, entries + 4, "words by context"),
                       cuda_array<std::uint32_t>(place, std::size_t{columns} + 1, "words by context")};
    const cuda_array<std::uint32_t> keys(place, entries, "words by context");
    const double scale = std::ldexp(1.0, codes.bits);
    if (codes.measure == lin)
        QUERN_LAUNCH(place, (cuda::launch_shape{count, 256}), code_entries_kernel<lin>, rows, from,
                     first_entry, scale, keys.data(), tile.postings.data());
    else
        QUERN_LAUNCH(place, (cuda::launch_shape{count, 256}), code_entries_kernel<cosine>, rows, from,
                     first_entry, scale, keys.data(), tile.postings.data());
    primitives::sort_pairs(place, keys.span(), tile.postings.span().first(entries),
                           {primitives::order::ascending, static_cast<unsigned>(std::bit_width(columns))});
    QUERN_LAUNCH(place, (cuda::launch_shape{cuda::blocks_for(entries + 1, 256), 256}), find_offsets_kernel,
                 keys.data(), static_cast<std::uint32_t>(entries), columns, tile.offsets.data());
    return tile;
}

}  // namespace quern::word_similarity_detail
