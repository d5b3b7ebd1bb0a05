// SPDX-License-Identifier: Apache-2.0
// Exact nearest neighbours on a GPU, step by step and whole, over random vectors made there.
// nearest_cuda_bench [table] [batches] [shapes] [search]: what to measure (default: everything). One line a
// measurement, tab-separated: what, type and metric, rows, dimensions, queries, method, bits of a key, seconds.
//   table    the paper's table 1: one query and its complete ranking, 1 to 5 million vectors of 128 × 2 bytes and of
//            256 × 1 byte, by `reduction` and by `auto`. Seconds of the distances, of the sort, of the transfer of the
//            ids to the host, and of all three together
//   batches  seconds of the distances of many queries to 5 million vectors
//   shapes   seconds of the distances of one query to 1 GB of vectors of other types, lengths and metrics
//   search   whole searches by the public interface, from host memory to host memory; method: k, the GPU's budget if it
//            is limited, tiles. Seconds to make the set, of the first search, and the median of three more
//   several  only if named: whole searches with one GPU and with all; method: the device
//   beyond   only if named: a whole search of a set larger than the memory of the GPU
// Seconds of distances and sorts: by the device's clock, the median of 15.
#include <cuda_fp16.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "device/cuda/check.cuh"
#include "ops/nearest/index/tile.hpp"
#include "primitives/sort/sort.hpp"
#include "quern/ops/nearest.hpp"

namespace quern {
namespace {

using namespace nearest_detail;

__device__ std::uint32_t scrambled(std::uint64_t n) {
    n = (n ^ n >> 31) * 0x9e3779b97f4a7c15u;
    n = (n ^ n >> 29) * 0xbf58476d1ce4e5b9u;
    return static_cast<std::uint32_t>(n >> 32);
}

/// One thread, eight bytes. Floats are in [−1, 1); integers of 16 bits in [0, most].
__global__ void make_components_kernel(std::uint64_t* words, std::uint64_t count, vector_type type,
                                       std::uint32_t max, std::uint64_t seed) {
    const std::uint64_t i = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x;
    if (i >= count) return;
    const std::uint32_t bits[] = {scrambled(2 * i + seed), scrambled(2 * i + 1 + seed)};
    std::uint64_t word = 0;
    for (unsigned j = 0; j < 4; ++j) {
        const std::uint32_t sixteen = bits[j / 2] >> (16 * (j % 2)) & 0xffffu;
        const float value = static_cast<float>(sixteen) * 0x1p-15f - 1;
        std::uint64_t stored = sixteen;
        if (type == vector_type::i16) stored = sixteen * (max + 1) >> 16;
        if (type == vector_type::f16) stored = __half_as_ushort(__float2half_rn(value));
        if (type == vector_type::bf16) stored = __float_as_uint(value) >> 16;
        word |= stored << (16 * j);
    }
    if (type == vector_type::f32) {
        const auto single = [&](unsigned j) {
            return static_cast<std::uint64_t>(
                __float_as_uint(static_cast<float>(bits[j] >> 8) * 0x1p-23f - 1));
        };
        word = single(0) | single(1) << 32;
    }
    words[i] = word;
}

__global__ void number_rows_kernel(std::uint32_t* ids, std::uint32_t count) {
    const std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) ids[i] = i;
}

/// Median seconds of 15 runs by the device's clock, from the start to the end of the work.
class stopwatch {
  public:
    stopwatch() {
        QUERN_CHECK(cudaEventCreate(&begin_));
        QUERN_CHECK(cudaEventCreate(&end_));
    }
    stopwatch(const stopwatch&) = delete;  // owns the events
    ~stopwatch() {
        cudaEventDestroy(begin_);
        cudaEventDestroy(end_);
    }
    double median_seconds(cuda_place& place, const std::function<void()>& work) {
        std::vector<double> seconds;
        for (int round = 0; round < 17; ++round) {
            QUERN_CHECK(cudaEventRecord(begin_, place.stream()));
            work();
            QUERN_CHECK(cudaEventRecord(end_, place.stream()));
            QUERN_CHECK(cudaEventSynchronize(end_));
            float ms = 0;
            QUERN_CHECK(cudaEventElapsedTime(&ms, begin_, end_));
            if (round >= 2) seconds.push_back(ms * 1e-3);
        }
        std::sort(seconds.begin(), seconds.end());
        return seconds[seconds.size() / 2];
    }

  private:
    cudaEvent_t begin_, end_;
};
double median_seconds(cuda_place& place, const std::function<void()>& work) {
    return stopwatch().median_seconds(place, work);
}

/// The input: vectors on the device.
struct shape {
    vector_type type;
    std::uint32_t rows, dimensions, queries;
    std::uint32_t max = 4095;  ///< of i16: sums of 128 squares then have 32 bits
};

class device_vectors {
  public:
    device_vectors(cuda_place& place, const shape& of, std::uint32_t rows, std::uint64_t seed)
        : of_(of), rows_(rows), words_(place, bytes() / 8 + 1, "vectors"), squares_(place, rows, "squares") {
        QUERN_LAUNCH(place, (cuda::launch_shape{cuda::blocks_for(words_.size(), 256), 256}),
                     make_components_kernel, words_.data(), words_.size(), of.type, of.max, seed);
        stats_of(place, tile(), squares_.span());
    }
    std::uint64_t row_bytes() const { return bytes_of_row(of_.type, of_.dimensions); }
    std::uint64_t bytes() const { return row_bytes() * rows_; }
    row_tile<cuda_place> tile() const {
        return {.type = of_.type,
                .rows = rows_,
                .dimensions = of_.dimensions,
                .stride = row_bytes(),
                .values = {reinterpret_cast<const std::byte*>(words_.data()), bytes()},
                .squares = squares_.span()};
    }

  private:
    shape of_;
    std::uint32_t rows_;
    cuda_array<std::uint64_t> words_;
    cuda_array<double> squares_;
};

void print(const char* what, const shape& of, const char* method, std::size_t key_bytes, vector_metric metric,
           const std::vector<double>& seconds) {
    std::printf("%s\t%s %s\t%u\t%u\t%u\t%s\t%zu", what,
                vector_type_names[static_cast<std::size_t>(of.type)].data(),
                vector_metric_names[static_cast<std::size_t>(metric)].data(), of.rows, of.dimensions,
                of.queries, method, 8 * key_bytes);
    for (const double s : seconds) std::printf("\t%.7f", s);
    std::printf("\n");
    std::fflush(stdout);
}

template <class Key>
void measure_ranking(cuda_place& place, const shape& of, bool reduction) {
    const device_vectors set(place, of, of.rows, 1), queries(place, of, of.queries, 2);
    const auto keys = make_array<Key>(place, of.rows);
    const auto ids = make_array<std::uint32_t>(place, of.rows);
    std::vector<std::uint32_t> host(of.rows);
    const auto distances = [&] {
        if (reduction)
            reduction_keys<Key>(place, set.tile(), queries.tile(), vector_metric::sql2, {}, keys.span());
        else
            distance_keys<Key>(place, set.tile(), queries.tile(), vector_metric::sql2, {}, keys.span());
    };
    const auto sort = [&] {
        QUERN_LAUNCH(place, (cuda::launch_shape{cuda::blocks_for(of.rows, 256), 256}), number_rows_kernel,
                     ids.data(), of.rows);
        primitives::sort_pairs(place, keys.span(), ids.span());
    };
    const auto copy = [&] { place.copy_out(host.data(), ids.data(), host.size() * sizeof(std::uint32_t)); };
    const double distance_seconds = median_seconds(place, distances);
    const double both = median_seconds(place, [&] {
        distances();
        sort();
    });
    const double copy_seconds = median_seconds(place, copy);
    const double all = median_seconds(place, [&] {
        distances();
        sort();
        copy();
    });
    print("table", of, reduction ? "reduction" : "auto", sizeof(Key), vector_metric::sql2,
          {distance_seconds, both - distance_seconds, copy_seconds, all});
}

template <class Key>
void measure_distances(cuda_place& place, const char* what, const shape& of, vector_metric metric) {
    const device_vectors set(place, of, of.rows, 1), queries(place, of, of.queries, 2);
    const auto keys = make_array<Key>(place, std::size_t{of.rows} * of.queries);
    const double seconds = median_seconds(
        place, [&] { distance_keys<Key>(place, set.tile(), queries.tile(), metric, {}, keys.span()); });
    print(what, of, "auto", sizeof(Key), metric, {seconds});
}

/// Random vectors in host memory, made on the device.
std::vector<std::byte> host_vectors(cuda_place& place, const shape& of, std::uint32_t rows,
                                    std::uint64_t seed) {
    const std::uint64_t row_bytes = bytes_of_row(of.type, of.dimensions);
    constexpr std::uint32_t at_once = 1'000'000;
    std::vector<std::byte> all(rows * row_bytes);
    for (std::uint32_t first = 0; first < rows; first += at_once) {
        const device_vectors some(place, of, std::min(at_once, rows - first),
                                  seed + 1'000'000'007ull * first);
        place.copy_out(all.data() + first * row_bytes, some.tile().values.data(), some.bytes());
    }
    return all;
}

void measure_search(cuda_place& place, const shape& of, std::uint64_t k, std::uint64_t gpu_bytes,
                    const device_choice& device = {device_choice::kind::cuda}) {
    const std::vector<std::byte> rows = host_vectors(place, of, of.rows, 1),
                                 requested = host_vectors(place, of, of.queries, 2);
    const auto view = [&](const std::vector<std::byte>& values, std::uint32_t count) {
        return vectors_view{.type = of.type,
                            .rows = count,
                            .dimensions = of.dimensions,
                            .stride = bytes_of_row(of.type, of.dimensions),
                            .values = values};
    };
    const auto now = [] { return std::chrono::steady_clock::now(); };
    const auto since = [&](std::chrono::steady_clock::time_point begin) {
        return std::chrono::duration<double>(now() - begin).count();
    };
    context ctx = context::cuda();
    ctx.device = device;
    ctx.gpu_memory_bytes = gpu_bytes;
    const auto made = now();
    vector_set set(view(rows, of.rows), {.metric = vector_metric::sql2}, ctx);
    const double making = since(made);
    std::vector<double> searches;
    for (int round = 0; round < 4; ++round) {
        const auto begin = now();
        set.search(view(requested, of.queries), {.k = k}, [](auto, auto, auto) {});
        searches.push_back(since(begin));
    }
    std::sort(searches.begin() + 1, searches.end());
    std::string method = k == all_vectors ? "complete" : "top " + std::to_string(k);
    if (gpu_bytes != 0) method += ", " + std::to_string(gpu_bytes >> 30) + " GiB";
    method += ", " + std::to_string(set.record().tiles) + " tiles";
    if (device.ordinal != device_choice::any_ordinal) method += ", " + set.record().place;
    print("search", of, method.c_str(), 4, vector_metric::sql2, {making, searches[0], searches[2]});
}

void measure_searches(cuda_place& place) {
    using enum vector_type;
    for (const vector_type type : {f16, i16, f32, u8}) {
        measure_search(place, {type, 5'000'000, 128, 1024}, 100, 0);
        measure_search(place, {type, 5'000'000, 128, 1}, 100, 0);
        measure_search(place, {type, 5'000'000, 128, 1}, all_vectors, 0);
    }
    for (const std::uint64_t gpu_bytes : {std::uint64_t{0}, std::uint64_t{8} << 30}) {
        measure_search(place, {f16, 50'000'000, 128, 1}, 100, gpu_bytes);
        measure_search(place, {f16, 50'000'000, 128, 1}, all_vectors, gpu_bytes);
        measure_search(place, {f16, 50'000'000, 128, 1024}, 100, gpu_bytes);
    }
}

/// The same searches with the first GPU and with all.
void measure_several(cuda_place& place) {
    using enum vector_type;
    for (const int ordinal : {0, device_choice::all_ordinals}) {
        const device_choice device{device_choice::kind::cuda, ordinal};
        measure_search(place, {f32, 8'000'000, 128, 4096}, 10, 0, device);
        measure_search(place, {f16, 8'000'000, 128, 1}, all_vectors, 0, device);
        measure_search(place, {f16, 50'000'000, 128, 4096}, 100, 0, device);
        measure_search(place, {f16, 50'000'000, 128, 4096}, 100, std::uint64_t{8} << 30, device);
    }
}

/// A set larger than the memory of the GPU, by a tenth; the host needs as much memory.
void measure_beyond(cuda_place& place) {
    std::size_t left = 0, memory = 0;
    QUERN_CHECK(cudaMemGetInfo(&left, &memory));
    const auto rows = static_cast<std::uint32_t>(memory / 256 * 11 / 10);
    measure_search(place, {vector_type::f16, rows, 128, 1024}, 100, 0);
}

void measure_table(cuda_place& place) {
    for (const vector_type type : {vector_type::i16, vector_type::f16, vector_type::u8}) {
        const std::uint32_t dimensions = type == vector_type::u8 ? 256 : 128;
        for (std::uint32_t millions = 1; millions <= 5; ++millions) {
            const shape of{type, millions * 1'000'000, dimensions, 1};
            for (const bool reduction : {true, false}) measure_ranking<std::uint32_t>(place, of, reduction);
        }
    }
    for (const bool reduction : {true, false})
        measure_ranking<std::uint64_t>(place, {vector_type::i16, 5'000'000, 128, 1, 32767}, reduction);
}

void measure_batches(cuda_place& place) {
    using enum vector_type;
    for (const vector_type type : {f16, f32, u8, i16})
        for (const std::uint32_t queries : {2u, 3u, 8u, 32u, 128u})
            measure_distances<std::uint32_t>(place, "batches", {type, 5'000'000, 128, queries},
                                             vector_metric::sql2);
    measure_distances<std::uint64_t>(place, "batches", {i16, 5'000'000, 128, 32, 32767}, vector_metric::sql2);
    for (const vector_metric metric :
         {vector_metric::ip, vector_metric::cosine, vector_metric::l1, vector_metric::linf})
        measure_distances<std::uint32_t>(place, "batches", {f16, 5'000'000, 128, 32}, metric);
    measure_distances<std::uint32_t>(place, "batches", {bits, 5'000'000, 256, 32}, vector_metric::hamming);
}

void measure_shapes(cuda_place& place) {
    using enum vector_type;
    constexpr std::uint64_t bytes = 1'000'000'000;
    for (const vector_type type : {f32, f16, bf16, i16, u8, i8, bits}) {
        for (const std::uint32_t d : {1u, 3u, 16u, 25u, 100u, 128u, 300u, 784u, 1001u, 1536u}) {
            if (type == i16 && d > 256) continue;  // keys of 64 bits
            const std::uint64_t rows = std::min<std::uint64_t>(bytes / bytes_of_row(type, d), 100'000'000);
            measure_distances<std::uint32_t>(place, "shapes", {type, static_cast<std::uint32_t>(rows), d, 1},
                                             type == bits ? vector_metric::hamming : vector_metric::sql2);
        }
    }
    for (const vector_type type : {f16, u8})
        for (const vector_metric metric :
             {vector_metric::ip, vector_metric::cosine, vector_metric::l1, vector_metric::linf})
            measure_distances<std::uint32_t>(place, "shapes", {type, 5'000'000, 128, 1}, metric);
}

}  // namespace
}  // namespace quern

int main(int count, char** arguments) {
    try {
        quern::cuda_place place(quern::context::cuda());
        const auto wants = [&](std::string_view what) {
            return count < 2 || std::find(arguments + 1, arguments + count, what) != arguments + count;
        };
        if (wants("table")) quern::measure_table(place);
        if (wants("batches")) quern::measure_batches(place);
        if (wants("shapes")) quern::measure_shapes(place);
        if (wants("search")) quern::measure_searches(place);
        if (count > 1 && wants("several")) quern::measure_several(place);
        if (count > 1 && wants("beyond")) quern::measure_beyond(place);
        return 0;
    } catch (const std::exception& e) {
        std::fprintf(stderr, "nearest_cuda_bench: %s\n", e.what());
        return 1;
    }
}
