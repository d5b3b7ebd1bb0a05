// SPDX-License-Identifier: Apache-2.0
// Wang's (2015) two kernels (chapter 4.4): a thread computes the full table of one pair after another, two rows at a time.
// Its arrays are contiguous, as in a C program.
#include <algorithm>
#include <bit>

#include "device/cuda/check.cuh"
#include "ops/near_duplicates/papers/signatures/thesis_kernels.hpp"

namespace quern::near_duplicates_detail {
namespace {

constexpr unsigned shared_bytes = 48 << 10;

/// Rows [first_row, first_row + rows) of texts against all texts.
struct thesis_data {
    const std::uint8_t* letters;
    const std::uint64_t* offsets;
    std::uint32_t first_row, rows, texts;
    unsigned capacity;  ///< cells of a row of the table, letters of a string
    std::uint16_t* distances;
};

/// EditDistancePlus.
template <class Cell>
__device__ unsigned table_distance(const std::uint8_t* a, unsigned length_a, const std::uint8_t* b,
                                   unsigned length_b, Cell* above, Cell* row) {
    for (unsigned j = 0; j <= length_b; ++j) above[j] = static_cast<Cell>(j);
    for (unsigned i = 1; i <= length_a; ++i) {
        row[0] = static_cast<Cell>(i);
        for (unsigned j = 1; j <= length_b; ++j) {
            const unsigned replaced = above[j - 1] + (a[i - 1] == b[j - 1] ? 0u : 1u);
            row[j] = static_cast<Cell>(min(replaced, min(above[j] + 1u, row[j - 1] + 1u)));
        }
        Cell* const finished = row;
        row = above;
        above = finished;
    }
    return above[length_b];
}

/// Calls compare(pair, string a, string b) for this thread's pairs, at steps of the whole grid.
template <class Compare>
__device__ void for_my_pairs(const thesis_data& data, const Compare& compare) {
    const std::uint64_t pairs = std::uint64_t{data.rows} * data.texts;
    for (std::uint64_t p = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; p < pairs;
         p += std::uint64_t{gridDim.x} * blockDim.x) {
        const std::uint64_t a = 2 * (data.first_row + p / data.texts), b = 2 * (p % data.texts);
        const std::uint64_t begin_a = data.offsets[a], begin_b = data.offsets[b];
        data.distances[p] = static_cast<std::uint16_t>(
            compare(data.letters + begin_a, static_cast<unsigned>(data.offsets[a + 1] - begin_a),
                    data.letters + begin_b, static_cast<unsigned>(data.offsets[b + 1] - begin_b)));
    }
}

/// Both strings and both rows in shared memory: (2 + 2 · sizeof(Cell)) · room bytes per thread.
template <class Cell>
__global__ void rows_in_shared_kernel(thesis_data data) {
    extern __shared__ __align__(16) std::uint8_t memory[];
    std::uint8_t* const mine = memory + threadIdx.x * (2 + 2 * sizeof(Cell)) * data.capacity;
    auto* const table = reinterpret_cast<Cell*>(mine);
    std::uint8_t* const string_a = mine + 2 * sizeof(Cell) * data.capacity;
    std::uint8_t* const string_b = string_a + data.capacity;
    for_my_pairs(
        data, [&](const std::uint8_t* a, unsigned length_a, const std::uint8_t* b, unsigned length_b) {
            for (unsigned i = 0; i < length_a; ++i) string_a[i] = a[i];
            for (unsigned j = 0; j < length_b; ++j) string_b[j] = b[j];
            return table_distance(string_a, length_a, string_b, length_b, table, table + data.capacity);
        });
}

/// Both rows in global memory: `tables` has two of `capacity` cells for each thread of the grid.
template <class Cell>
__global__ void rows_in_global_kernel(thesis_data data, Cell* tables) {
    Cell* const table = tables + (std::size_t{blockIdx.x} * blockDim.x + threadIdx.x) * 2 * data.capacity;
    for_my_pairs(data,
                 [&](const std::uint8_t* a, unsigned length_a, const std::uint8_t* b, unsigned length_b) {
                     return table_distance(a, length_a, b, length_b, table, table + data.capacity);
                 });
}

template <class Cell>
std::vector<candidate> compare_all(cuda_place& place, thesis_launch launch, const signature_view& signatures,
                                   const device_signatures& device_signatures_view,
                                   const signature_bounds& bounds, const duplicate_scope& scope,
                                   duplicate_counts& counts) {
    const std::uint32_t texts = signatures.texts();
    const unsigned capacity = std::bit_ceil(bounds.length() + 1);
    const unsigned thread_bytes = (2 + 2 * static_cast<unsigned>(sizeof(Cell))) * capacity;
    const bool in_shared = launch.kernel == thesis_kernel::rows_in_shared;
    if (launch.blocks == 0) launch.blocks = place.multiprocessors() * (in_shared ? 4 : 16);
    if (launch.threads == 0) launch.threads = in_shared ? 96 : 128;
    if (in_shared) launch.threads = std::min(launch.threads, shared_bytes / thread_bytes);

    const std::uint32_t step = std::max(1u, 10'000'000 / texts);
    const auto distances =
        make_array<std::uint16_t>(place, std::size_t{step} * texts, "distances of signatures");
    cuda_array<Cell> tables;
    if (!in_shared)
        tables = make_array<Cell>(place, std::size_t{launch.blocks} * launch.threads * 2 * capacity,
                                  "the tables of edit distances");
    cpu_place host(place.ctx());
    const auto returned =
        make_array<std::uint16_t>(host, std::size_t{step} * texts, "distances of signatures");
    std::vector<candidate> all;
    for (std::uint32_t row = scope.first_new; row < texts;) {
        place.ctx().check_stop();
        const std::uint32_t rows = std::min(step, texts - row);
        const thesis_data data{device_signatures_view.letters.data(),
                               device_signatures_view.offsets.data(),
                               row,
                               rows,
                               texts,
                               capacity,
                               distances.data()};
        const cuda::launch_shape shape{launch.blocks, launch.threads,
                                       in_shared ? std::size_t{launch.threads} * thread_bytes : 0};
        if (in_shared)
            QUERN_LAUNCH(place, shape, rows_in_shared_kernel<Cell>, data);
        else
            QUERN_LAUNCH(place, shape, rows_in_global_kernel<Cell>, data, tables.data());
        const std::size_t pairs = std::size_t{rows} * texts;
        place.copy_out(returned.data(), distances.data(), pairs * sizeof(std::uint16_t));
        collect_candidates(host, returned.span().first(pairs), row, rows, signatures, bounds, scope, all);
        row += rows;
    }
    for (std::uint32_t b = 0; b < texts; ++b) counts.compared += scope_end(scope, b);
    sort_candidates(all);
    counts.candidates += all.size();
    return all;
}

}  // namespace

std::vector<candidate> thesis_candidates(cuda_place& place, const thesis_launch& launch,
                                         const signature_view& signatures,
                                         const device_signatures& device_signatures_view,
                                         const signature_bounds& bounds, const duplicate_scope& scope,
                                         duplicate_counts& counts) {
    if (signatures.texts() == 0) return {};
    return bounds.length() < 256 ? compare_all<std::uint8_t>(place, launch, signatures,
                                                             device_signatures_view, bounds, scope, counts)
                                 : compare_all<std::uint16_t>(place, launch, signatures,
                                                              device_signatures_view, bounds, scope, counts);
}

}  // namespace quern::near_duplicates_detail
