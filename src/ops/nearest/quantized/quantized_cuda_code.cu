// SPDX-License-Identifier: Apache-2.0
// The quantized form's codes on the GPU: each row's scale, its codes, and their error (quantized_bounds.hpp), in one pass over memory:
// a warp reads its row twice, the second time from a cache.
#include <algorithm>
#include <cstdint>

#include "device/cuda/check.cuh"
#include "ops/nearest/quantized/quantized_cuda.cuh"

namespace quern::nearest_detail {
namespace {

constexpr unsigned warp = 32;
constexpr unsigned everyone = 0xffffffffu;
constexpr unsigned chunk =
    warp * stored_group<vector_type::f32>::size;  // components that a warp reads at once
constexpr unsigned chunk_steps = chunk / step_components;
constexpr unsigned block_words = block_vectors * 4;

struct code_source {
    const std::byte* values;
    std::uint64_t stride;
    std::uint32_t rows, dimensions;
    bool aligned;
    const float* centre;  ///< null: 0
    quantized_kind kind;
};
struct code_target {
    std::uint32_t* codes;
    std::uint32_t steps;
    unsigned tile_rows;
    row_terms* rows;       ///< or
    query_terms* queries;  ///< the other is null
};

struct four_values {
    float at[4];
};

/// The coded values of components first … first + 3 (quantized_bounds.hpp: v).
template <vector_type Type>
__device__ four_values values_at(const code_source& from, const stored_t<Type>* row, std::uint32_t first) {
    const auto group = read_group<Type>(row, first, from.dimensions, from.aligned);
    four_values v;
    for (unsigned c = 0; c < 4; ++c) v.at[c] = static_cast<float>(loaded_value<Type>(group.at[c]));
    if (from.centre != nullptr) {
        const float4 centre = *reinterpret_cast<const float4*>(from.centre + first);
        v.at[0] -= centre.x;
        v.at[1] -= centre.y;
        v.at[2] -= centre.z;
        v.at[3] -= centre.w;
    }
    return v;
}

template <class T>
__device__ T warp_sum(T mine) {
    for (unsigned apart = warp / 2; apart != 0; apart /= 2) mine += __shfl_xor_sync(everyone, mine, apart);
    return mine;
}

template <vector_type Type>
__device__ float warp_scale(const code_source& from, const stored_t<Type>* row, unsigned lane) {
    float greatest = 0;
    bool whole = true;
    for (std::uint32_t first = lane * 4; first < from.dimensions; first += chunk) {
        const four_values v = values_at<Type>(from, row, first);
        for (const float value : v.at) {
            greatest = fmaxf(greatest, fabsf(value));
            whole &= value == rintf(value);
        }
    }
    for (unsigned apart = warp / 2; apart != 0; apart /= 2)
        greatest = fmaxf(greatest, __shfl_xor_sync(everyone, greatest, apart));
    return scale_of(greatest, __all_sync(everyone, whole));
}

/// Block b owns the sixteen rows from 16 b on, warp w row 16 b + w; rows past the last become zeros. Words of codes pass
/// through shared memory (2 KB), so that whole blocks of sixteen rows are written at once.
template <vector_type Type>
__global__ void __launch_bounds__(block_rows* warp) code_rows_kernel(code_source from, code_target to) {
    __shared__ std::uint32_t words[chunk_steps * block_words];
    const unsigned lane = threadIdx.x % warp, within = threadIdx.x / warp;
    const std::uint32_t row = blockIdx.x * block_rows + within;
    const bool exists = row < from.rows;
    const auto* values = row_at<Type>(from.values, from.stride, exists ? row : 0);
    const float scale = exists ? warp_scale<Type>(from, values, lane) : 0.0f;
    const float inverse = scale > 0 ? 1.0f / scale : 0.0f;

    const unsigned blocks_a_tile = to.tile_rows / block_rows;
    const std::uint64_t first_block =
        std::uint64_t{blockIdx.x / blocks_a_tile} * to.steps * blocks_a_tile + blockIdx.x % blocks_a_tile;
    const unsigned lower = within / 8, later = lane % 8 / 4;  // half of the rows, of the components
    const unsigned word = (lane / 8) * block_words + ((within % 8) * 4 + lane % 4) * 4 +
                          (to.rows != nullptr ? 2 * lower + later : lower + 2 * later);
    coded_sums sums;
    sums.scale = scale;
    unsigned code_squares = 0;
    for (std::uint32_t begin = 0; begin < to.steps * step_components; begin += chunk) {
        const std::uint32_t first = begin + lane * 4;
        std::uint32_t packed = 0;
        if (exists && first < from.dimensions) {
            const four_values v = values_at<Type>(from, values, first);
            for (unsigned c = 0; c < 4; ++c) {
                const int code = max(-127, min(127, __float2int_rn(v.at[c] * inverse)));
                const float rest = __fmaf_rn(-scale, static_cast<float>(code), v.at[c]);
                packed |= (static_cast<unsigned>(code) & 0xffu) << (8 * c);
                code_squares += static_cast<unsigned>(code * code);
                sums.squares += double{v.at[c]} * double{v.at[c]};
                sums.rest += double{rest} * double{rest};
            }
        }
        __syncthreads();
        words[word] = packed;
        __syncthreads();
        const std::uint32_t step = begin / step_components + threadIdx.x / block_words;
        if (step < to.steps) {
            const std::uint64_t block = first_block + std::uint64_t{step} * blocks_a_tile;
            to.codes[block * block_words + threadIdx.x % block_words] = words[threadIdx.x];
        }
    }
    sums.squares = warp_sum(sums.squares);
    sums.rest = sqrt(warp_sum(sums.rest));
    sums.norm = sqrt(sums.squares);
    sums.code_norm = sqrt(static_cast<double>(warp_sum(code_squares)));
    if (lane != 0) return;
    if (to.rows != nullptr) to.rows[row] = exists ? row_terms_of(from.kind, sums) : row_terms{};
    if (to.queries != nullptr) to.queries[row] = exists ? query_terms_of(from.kind, sums) : query_terms{};
}

constexpr unsigned slices = 8;

/// The mean of every stride-th row: of component 32 b + x by the threads (x, ·) of block b, each for every eighth of the
/// rows. Any vector is valid; for integers an integer one. 1 KB of shared memory.
template <vector_type Type>
__global__ void mean_kernel(code_source from, std::uint32_t stride, std::uint32_t sampled, float* centre) {
    __shared__ float sums[slices][warp];
    const std::uint32_t component = blockIdx.x * warp + threadIdx.x;
    float sum = 0;
    if (component < from.dimensions) {
        for (std::uint32_t i = threadIdx.y; i < sampled; i += slices) {
            const auto* row = row_at<Type>(from.values, from.stride, std::uint64_t{i} * stride);
            sum += static_cast<float>(loaded_value<Type>(row[component])) / static_cast<float>(sampled);
        }
    }
    sums[threadIdx.y][threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.y != 0) return;
    for (unsigned slice = 1; slice < slices; ++slice) sum += sums[slice][threadIdx.x];
    centre[component] = is_float(Type) ? sum : rintf(sum);
}

code_source source_of(const row_tile<cuda_place>& tile, const quantized_kind& kind, const float* centre) {
    return {tile.values.data(), tile.stride, tile.rows, tile.dimensions, groups_aligned(tile), centre, kind};
}

cuda_array<float> mean_of(cuda_place& place, const row_tile<cuda_place>& tile, const quantized_kind& kind) {
    constexpr std::uint32_t max_sampled = 1024;
    const std::uint32_t sampled = std::min(tile.rows, max_sampled);
    if (sampled == 0) return {};
    const std::uint32_t steps = steps_of(tile.dimensions);
    cuda_array<float> centre(place, std::size_t{steps} * step_components, "the centre of a sketch");
    with_type(tile.type, [&](auto type) {
        if constexpr (can_quantize(type()))
            QUERN_LAUNCH(place, (cuda::launch_shape{dim3(steps), dim3(warp, slices)}), mean_kernel<type()>,
                         source_of(tile, kind, nullptr), tile.rows / sampled, sampled, centre.data());
    });
    return centre;
}

}  // namespace

void code_rows(cuda_place& place, const row_tile<cuda_place>& tile, const quantized_kind& kind,
               device_span<const float> centre, unsigned tile_rows, device_span<uint4> codes,
               device_span<row_terms> rows, device_span<query_terms> queries) {
    const code_target to{reinterpret_cast<std::uint32_t*>(codes.data()), steps_of(tile.dimensions), tile_rows,
                         rows.data(), queries.data()};
    const auto blocks = static_cast<unsigned>(tiles_of(tile.rows, tile_rows) * (tile_rows / block_rows));
    with_type(tile.type, [&](auto type) {
        if constexpr (can_quantize(type()))
            QUERN_LAUNCH(place, (cuda::launch_shape{dim3(blocks), dim3(block_rows * warp)}),
                         code_rows_kernel<type()>, source_of(tile, kind, centre.data()), to);
    });
}

quantized_rows<cuda_place>::quantized_rows(cuda_place& place, const row_tile<cuda_place>& tile,
                                           vector_metric metric)
    : state_(std::make_unique<state>()) {
    state& made = *state_;
    made.kind = {tile.type, metric, tile.dimensions};
    made.rows = tile.rows;
    made.steps = steps_of(tile.dimensions);
    if (made.kind.by_difference()) made.centre = mean_of(place, tile, made.kind);
    const std::uint64_t tiles = tiles_of(tile.rows, quantized_tile_rows);
    made.codes = cuda_array<uint4>(place, code_size(tile.rows, made.steps, quantized_tile_rows),
                                   "the codes of a sketch");
    made.terms = cuda_array<row_terms>(place, tiles * quantized_tile_rows, "the terms of a sketch");
    code_rows(place, tile, made.kind, made.centre.span(), quantized_tile_rows, made.codes.span(),
              made.terms.span(), {});
}
quantized_rows<cuda_place>::~quantized_rows() = default;
quantized_rows<cuda_place>::quantized_rows(quantized_rows&&) noexcept = default;
quantized_rows<cuda_place>& quantized_rows<cuda_place>::operator=(quantized_rows&&) noexcept = default;

}  // namespace quern::nearest_detail
