// SPDX-License-Identifier: Apache-2.0
// The paper's method (Zhou, Hu, Zhang, Huang and Jiang 2011, section 2.2): one block of sixteen threads for each vector.
// Thread i sums the components i, i + 16, …; then half of the threads add the other half's sums to theirs, four times;
// thread 0 writes. Kept as published, for comparison with ours: half of a warp's lanes are idle, and a block's start and
// end cost more than its 8 components per thread.
#include <algorithm>

#include "device/cuda/check.cuh"
#include "ops/nearest/distance/components.cuh"

namespace quern::nearest_detail {
namespace {

constexpr unsigned max_blocks = 0x7fffffffu, max_queries = 65'535;

/// Block: 16 threads, for the pair of vector x and query y, and later pairs if the grid is too small. Shared memory: 16
/// sums.
template <class Traits, class Key>
__global__ void __launch_bounds__(partial_sums)
    reduce_vector_kernel(device_rows rows, device_rows queries, std::uint32_t count, wanted_pairs wanted,
                         key_maker<Key> key_of, Key* keys) {
    using sum_type = typename Traits::sum;
    __shared__ sum_type sums[partial_sums];
    const unsigned i = threadIdx.x;
    for (std::uint32_t q = blockIdx.y; q < wanted.queries; q += gridDim.y) {
        for (std::uint64_t x = blockIdx.x; x < wanted.size; x += gridDim.x) {
            const std::uint32_t row = wanted.row(x);
            sums[i] = partial_sum<Traits::type, Traits::kind, sum_type>(
                rows.row<Traits::type>(row), queries.row<Traits::type>(q), count, i);
            for (unsigned half = partial_sums / 2; half != 0; half /= 2) {
                __syncthreads();
                if (i < half) sums[i] = joined<Traits::kind>(sums[i], sums[i + half]);
            }
            if (i == 0) keys[q * wanted.size + x] = key_of(sums[0], q, row);
            __syncthreads();
        }
    }
}

}  // namespace

template <class Key>
void reduction_keys(cuda_place& place, const row_tile<cuda_place>& tile, const row_tile<cuda_place>& queries,
                    vector_metric metric, device_span<const std::uint32_t> rows, device_span<Key> keys) {
    const wanted_pairs wanted = pairs_of(tile, queries, rows);
    with_pair_traits<Key>(tile.type, metric, tile.dimensions, [&]<class Traits>(Traits) {
        const dim3 grid(static_cast<unsigned>(std::min<std::uint64_t>(wanted.size, max_blocks)),
                        std::min(wanted.queries, max_queries));
        QUERN_LAUNCH(place, (cuda::launch_shape{grid, partial_sums}), (reduce_vector_kernel<Traits, Key>),
                     device_view(tile), device_view(queries), summed_items(tile, metric), wanted,
                     (key_maker<Key>{metric, tile.squares.data(), queries.squares.data()}), keys.data());
    });
}
template void reduction_keys(cuda_place&, const row_tile<cuda_place>&, const row_tile<cuda_place>&,
                             vector_metric, device_span<const std::uint32_t>, device_span<std::uint32_t>);
template void reduction_keys(cuda_place&, const row_tile<cuda_place>&, const row_tile<cuda_place>&,
                             vector_metric, device_span<const std::uint32_t>, device_span<std::uint64_t>);

}  // namespace quern::nearest_detail
