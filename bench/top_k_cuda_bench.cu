// SPDX-License-Identifier: Apache-2.0
// The k best on the GPU, compared with a radix sort of all (CUB). One line a measurement, tab-separated: data, rows, columns, k,
// who, microseconds a call. Calls are made back to back, 20 between two events, warm; the median of 9 such. The keys
// of 5 M are then in the L2 cache, for the peers as well. run-cuda-top-k adds PyTorch and makes the table.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cub/device/device_radix_sort.cuh>
#include <exception>
#include <string>
#include <vector>

#include "device/array.hpp"
#include "device/cuda/check.cuh"
#include "primitives/top_k/top_k.hpp"

namespace quern {
namespace {

enum class data { uniform, equal, rising, falling, few };
constexpr data all_data[] = {data::uniform, data::equal, data::rising, data::falling, data::few};
const char* name_of(data kind) {
    const char* const names[] = {"uniform", "all equal", "rising", "falling", "16 distinct"};
    return names[static_cast<int>(kind)];
}

__global__ void fill_kernel(float* keys, std::uint64_t n, data kind) {
    const std::uint64_t i = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x;
    if (i >= n) return;
    std::uint64_t x = i * 0x9e3779b97f4a7c15 + 0x2545f4914f6cdd1d;  // splitmix64
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    x ^= x >> 31;
    const float share = static_cast<float>(i) / static_cast<float>(n);
    keys[i] = kind == data::uniform   ? static_cast<float>(x >> 40) * 0x1p-24f
              : kind == data::equal   ? 1.0f
              : kind == data::rising  ? share
              : kind == data::falling ? 1 - share
                                      : static_cast<float>(x >> 60);
}

__global__ void number_kernel(std::uint32_t* ids, std::uint64_t n) {
    const std::uint64_t i = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x;
    if (i < n) ids[i] = static_cast<std::uint32_t>(i);
}

template <class Call>
double microseconds(cuda_place& place, double expected, const Call& call) {
    cudaEvent_t begin = nullptr, end = nullptr;
    QUERN_CHECK(cudaEventCreate(&begin));
    QUERN_CHECK(cudaEventCreate(&end));
    const int calls = expected > 1000 ? 3 : 20, repeats = expected > 1000 ? 3 : 9;
    for (int i = 0; i < 3; ++i) call();
    std::vector<float> each;
    for (int r = 0; r < repeats; ++r) {
        QUERN_CHECK(cudaEventRecord(begin, place.stream()));
        for (int i = 0; i < calls; ++i) call();
        QUERN_CHECK(cudaEventRecord(end, place.stream()));
        QUERN_CHECK(cudaEventSynchronize(end));
        float milliseconds = 0;
        QUERN_CHECK(cudaEventElapsedTime(&milliseconds, begin, end));
        each.push_back(milliseconds * 1000 / static_cast<float>(calls));
    }
    place.synchronise();
    std::sort(each.begin(), each.end());
    return each[each.size() / 2];
}

void print(data kind, std::uint64_t rows, std::uint64_t columns, std::uint64_t k, const char* who,
           double us) {
    std::printf("%s\t%llu\t%llu\t%llu\t%s\t%.1f\n", name_of(kind), static_cast<unsigned long long>(rows),
                static_cast<unsigned long long>(columns), static_cast<unsigned long long>(k), who, us);
    std::fflush(stdout);
}

void fill(cuda_place& place, device_span<float> keys, data kind) {
    QUERN_LAUNCH(place, (cuda::launch_shape{dim3(cuda::blocks_for(keys.size(), 256)), dim3(256)}),
                 fill_kernel, keys.data(), keys.size(), kind);
}

double cub_sort(cuda_place& place, device_span<const float> keys) {
    const std::size_t n = keys.size();
    const auto ids = make_array<std::uint32_t>(place, n), out_ids = make_array<std::uint32_t>(place, n);
    const auto out = make_array<float>(place, n);
    QUERN_LAUNCH(place, (cuda::launch_shape{dim3(cuda::blocks_for(n, 256)), dim3(256)}), number_kernel,
                 ids.data(), n);
    std::size_t bytes = 0;
    const auto sort = [&](void* temporary) {
        QUERN_CHECK(cub::DeviceRadixSort::SortPairsDescending(
            temporary, bytes, keys.data(), out.data(), ids.data(), out_ids.data(), n, 0, 32, place.stream()));
    };
    sort(nullptr);
    const auto temporary = make_array<std::byte>(place, bytes);
    return microseconds(place, static_cast<double>(n) / 2e4, [&] { sort(temporary.data()); });
}

void lists(cuda_place& place) {
    for (const std::uint64_t n : {5'000'000u, 100'000'000u}) {
        const auto keys = make_array<float>(place, n);
        for (const data kind : all_data) {
            fill(place, keys.span(), kind);
            print(kind, 1, n, 0, "CUB, all sorted", cub_sort(place, keys.span()));
            for (const std::uint64_t k : {1u, 100u, 1000u, 10'000u, 100'000u, 1'000'000u}) {
                if (kind != data::uniform && k != 100 && k != 10'000) continue;
                const auto best = make_array<float>(place, k);
                const auto ids = make_array<std::uint32_t>(place, k);
                print(kind, 1, n, k, "Quern", microseconds(place, static_cast<double>(n) / 1e6, [&] {
                          primitives::top_k<float>(place, keys.span(), best.span(), ids.span());
                      }));
            }
        }
    }
}

void rows(cuda_place& place) {
    const std::uint64_t shapes[][3] = {{1'000'000, 32, 5},    {100'000, 512, 10},    {10'000, 5000, 100},
                                       {1024, 100'000, 100},  {1024, 100'000, 1000}, {100, 1'000'000, 100},
                                       {8, 10'000'000, 1000}, {1000, 20'000, 10'000}};
    for (const auto& [r, columns, k] : shapes) {
        const auto keys = make_array<float>(place, r * columns);
        const auto best = make_array<float>(place, r * k);
        const auto ids = make_array<std::uint32_t>(place, r * k);
        fill(place, keys.span(), data::uniform);
        const std::uint64_t c = columns, depth = k;
        print(data::uniform, r, c, depth, "Quern", microseconds(place, 500, [&] {
                  primitives::batched_top_k<float>(place, keys.span(), c, depth, best.span(), ids.span());
              }));
    }
}

}  // namespace
}  // namespace quern

int main() {
    try {
        quern::cuda_place place(quern::context::cuda());
        quern::lists(place);
        quern::rows(place);
    } catch (const std::exception& e) {
        std::fprintf(stderr, "top_k_cuda_bench: %s\n", e.what());
        return 1;
    }
    return 0;
}
