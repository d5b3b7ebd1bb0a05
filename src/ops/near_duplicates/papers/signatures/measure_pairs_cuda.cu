// SPDX-License-Identifier: Apache-2.0
// The edit distances of the pairs that passed the filter of the signature join, a thread each.
#include "ops/near_duplicates/papers/signatures/signature_filter.cuh"
#include "ops/near_duplicates/papers/signatures/signature_join_bits.hpp"

namespace quern::near_duplicates_detail {
namespace {

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
__global__ void measure_pairs_kernel(join_data data, pair_queue queue, found_pairs found) {
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
        found.pairs[atomicAdd(found.count, counter{1})] = a << 32 | b;
    }
}

}  // namespace

void measure_pairs(cuda_place& place, const join_data& data, unsigned longest, const pair_queue& queue,
                   const found_pairs& found) {
    const cuda::launch_shape shape{place.multiprocessors() * 16, 128};
    if (longest <= 128)
        QUERN_LAUNCH(place, shape, measure_pairs_kernel<2>, data, queue, found);
    else if (longest <= 256)
        QUERN_LAUNCH(place, shape, measure_pairs_kernel<4>, data, queue, found);
    else
        QUERN_LAUNCH(place, shape, measure_pairs_kernel<16>, data, queue, found);
}

}  // namespace quern::near_duplicates_detail
